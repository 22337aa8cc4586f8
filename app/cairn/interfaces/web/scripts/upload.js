// Sends files that are dropped or chosen, folders with the paths in them, one batch after the other, and tells the room of each.
window.cairnUpload = (() => {
  const BATCH_FILES = 50;
  const BATCH_BYTES = 2e6;  // a large file is a job of its own, which small ones overtake
  const SKIPPED = new Set(["node_modules", "__pycache__"]);
  let waiting = Promise.resolve();
  let batches = 0;

  const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || SKIPPED.has(part));

  async function readEntry(entry, path, found) {
    if (isHidden(entry.name)) return;
    if (entry.isFile) {
      found.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path: path + entry.name });
      return;
    }
    const reader = entry.createReader();
    for (;;) {  // a reader gives a hundred at a time
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return;
      for (const one of some) await readEntry(one, path + entry.name + "/", found);
    }
  }

  function send(zone, files) {
    const mostBytes = Math.min(BATCH_BYTES, Number(zone.dataset.batchBytes)), mostOfOne = Number(zone.dataset.fileBytes);
    const large = files.filter(({ file }) => file.size > mostOfOne);
    if (large.length) emitEvent("upload_large", { names: large.map(({ path }) => path).slice(0, 20), count: large.length });
    let batch = [], bytes = 0;
    const close = () => {
      if (batch.length) {
        const one = { key: `batch-${Date.now()}-${++batches}`, url: zone.dataset.url, files: batch };
        emitEvent("upload_begun", { key: one.key, files: batch.map(({ file, path }) => ({ name: path, size: file.size })) });
        waiting = waiting.then(() => post(one));
      }
      batch = []; bytes = 0;
    };
    const small = files.filter(({ file }) => file.size <= mostOfOne).sort((one, other) => one.file.size - other.file.size);
    for (const item of small) {
      if (batch.length >= BATCH_FILES || (batch.length && bytes + item.file.size > mostBytes)) close();
      batch.push(item); bytes += item.file.size;
    }
    close();
  }

  function post({ key, url, files }) {
    return new Promise((resolve) => {
      const form = new FormData();
      for (const { file, path } of files) form.append("files", file, path);
      const request = new XMLHttpRequest();
      let told = 0;
      request.upload.onprogress = (event) => {
        if (event.lengthComputable && Date.now() - told > 300) {
          told = Date.now();
          emitEvent("upload_sent", { key, share: event.loaded / event.total });
        }
      };
      request.onloadend = () => {
        let answer = {};
        try { answer = JSON.parse(request.responseText); } catch { /* no answer, or not one of ours */ }
        emitEvent("upload_answered", { key, status: request.status, job: answer.id || "", detail: answer.detail || "" });
        resolve();
      };
      request.open("POST", location.pathname.replace(/\/ui\/.*$/, "") + url);
      request.send(form);
    });
  }

  return {
    over(event) {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      event.currentTarget.classList.add("dropping");
    },
    left(event) {
      if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.classList.remove("dropping");
    },
    async dropped(event) {
      event.currentTarget.classList.remove("dropping");
      const zone = event.currentTarget, found = [];
      // entries are gone once the event is over
      const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
      const dropped = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
      for (const { entry, file } of dropped) {
        if (entry) await readEntry(entry, "", found);
        else if (file) found.push({ file, path: file.name });
      }
      send(zone, found);
    },
    chosen(event) {
      const found = [...event.target.files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
      send(event.target.closest("[data-url]"), found.filter(({ path }) => !isHidden(path)));
      event.target.value = "";
    },
  };
})();
