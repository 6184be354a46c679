// Chooses the view for a page's address.
import { show_index } from "./index.js";
import { show_run } from "./run.js";
import { show_comparison } from "./compare.js";

const main = document.getElementById("main");
const parts = location.pathname.split("/").filter((part) => part).map(decodeURIComponent);
if (parts[0] === "run") show_run(main, { study: parts[1], profile: parts[2] });
else if (parts[0] === "compare") show_comparison(main, new URLSearchParams(location.search));
else show_index(main);
