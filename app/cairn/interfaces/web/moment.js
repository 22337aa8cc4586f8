// A time as people say it in the language of the page, and exactly in a tooltip; all on a page go on together.
import { ref } from "vue";

const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const now = ref(Date.now());
setInterval(() => (now.value = Date.now()), 15000);

export default {
  template: `<time :datetime="moment" :title="exact">{{ said }}</time>`,
  props: { moment: String },
  computed: {
    said() {
      const seconds = (Date.parse(this.moment) - Math.max(now.value, Date.now())) / 1000;
      const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) || ["second", 1];
      const count = unit === "second" && seconds > -10 && seconds <= 0 ? 0 : Math.trunc(seconds / length);
      return new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "auto" }).format(count, unit);
    },
    exact() {
      const form = { dateStyle: "full", timeStyle: "long" };
      return new Intl.DateTimeFormat(document.documentElement.lang || "en", form).format(new Date(this.moment));
    },
  },
};
