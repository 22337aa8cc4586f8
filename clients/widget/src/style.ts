/** Of the shadow tree alone. A page sets the custom properties on `.cairn-widget` where it wants other colours. */
export const STYLE = `
:host {
  --ground: #ffffff; --ink: #1c2321; --muted: #56605c; --line: #cfd6d3; --accent: #0b6b53; --on-accent: #ffffff; --mark: #fff0b8;
  --bad: #a3271c;
  display: block; color-scheme: light; font: 1rem/1.5 system-ui, sans-serif; color: var(--cairn-ink, var(--ink));
}
@media (prefers-color-scheme: dark) {
  :host(:not([data-theme="light"])) {
    --ground: #161b19; --ink: #e8edeb; --muted: #a9b4af; --line: #3d4743; --accent: #6fd3b4; --on-accent: #06261d; --mark: #5a4a10;
    --bad: #ff9c8f; color-scheme: dark;
  }
}
:host([data-theme="dark"]) {
  --ground: #161b19; --ink: #e8edeb; --muted: #a9b4af; --line: #3d4743; --accent: #6fd3b4; --on-accent: #06261d; --mark: #5a4a10;
  --bad: #ff9c8f; color-scheme: dark;
}
section {
  background: var(--cairn-ground, var(--ground)); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; max-width: 44rem;
}
h2 { font-size: 1.05rem; margin: 0 0 .6rem; } h3 { font-size: .9rem; margin: 1rem 0 .3rem; color: var(--muted); }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; }
label { flex: 1 1 14rem; font-size: .85rem; color: var(--muted); }
input {
  box-sizing: border-box; width: 100%; margin-top: .2rem; padding: .5rem .6rem; font: inherit; font-size: 1rem; background: transparent;
  color: var(--cairn-ink, var(--ink));
  border: 1px solid var(--muted); border-radius: .4rem;
}
form > button {
  padding: .5rem 1rem; font: inherit; font-weight: 600; cursor: pointer; border: 1px solid var(--cairn-accent, var(--accent));
  border-radius: .4rem; background: var(--cairn-accent, var(--accent)); color: var(--on-accent);
}
form > button[type="button"] { background: transparent; color: inherit; }
[hidden] { display: none !important; }
:focus-visible { outline: 2px solid var(--cairn-accent, var(--accent)); outline-offset: 2px; }
.status { min-height: 1.5em; margin: .6rem 0 0; font-size: .85rem; color: var(--muted); }
.status.bad { color: var(--bad); }
.answer p, .answer ul, .answer pre { margin: .5rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.answer ul { padding-left: 1.2rem; white-space: normal; }
.answer button {
  font: inherit; font-size: .85em; padding: 0 .15rem; border: 0; background: none; color: var(--cairn-accent, var(--accent));
  text-decoration: underline; cursor: pointer;
}
ol { list-style: none; margin: 0; padding: 0; }
details { border-top: 1px solid var(--line); padding: .35rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
blockquote { margin: .4rem 0; padding-left: .8rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.where { font-size: .85rem; color: var(--muted); }
mark { background: var(--mark); color: inherit; }
`;
