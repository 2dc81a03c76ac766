// Runs are filled in when they are opened. Text becomes text nodes; of elements only these are made.
const TAGS = new Set("a caption dd div dl dt h3 li p q span strong table tbody td th thead tr ul".split(" "));
const ATTRIBUTES = new Set(["aria-hidden", "class", "colspan", "href", "role", "scope"]);

function made(part) {
  if (typeof part === "string") return document.createTextNode(part);
  const [tag, attributes, ...children] = part;
  if (!TAGS.has(tag)) return document.createTextNode("");
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(name) && (name !== "href" || value.startsWith("#"))) element.setAttribute(name, value);
  }
  element.append(...children.map(made));
  return element;
}

const blocks = new Map();
function block(number) {
  if (!blocks.has(number)) blocks.set(number, unpackedJson(`runs-${number}`));
  return blocks.get(number);
}
async function fill(details) {
  const body = details.querySelector(".run");
  if (!body || !("block" in body.dataset)) return;
  const { block: number, place } = body.dataset;
  delete body.dataset.block;
  try {
    body.replaceChildren(...(await block(number))[place].map(made));
  } catch {
    body.dataset.block = number;
    body.replaceChildren("This browser cannot unpack the run.");
  }
}
async function goTo(hash) {
  const details = hash.startsWith("#run-") && document.getElementById(hash.slice(1));
  if (!details) return;
  details.closest(".task-runs").hidden = false;
  details.hidden = false;
  details.open = true;
  await fill(details);
  details.scrollIntoView();
  details.querySelector("summary").focus({ preventScroll: true });
}

const all = [...document.querySelectorAll("details.of-run")];
for (const details of all) details.addEventListener("toggle", () => details.open && fill(details));

const search = document.getElementById("run-search");
if (search) {
  search.closest("[hidden]").hidden = false;
  const told = document.getElementById("run-count");
  const outcome = document.getElementById("run-outcome");
  const texts = all.map((details) => details.firstElementChild.textContent.toLowerCase());
  const narrow = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    all.forEach((details, place) => {
      const fits = words.every((word) => texts[place].includes(word));
      details.hidden = !fits || (outcome.value !== "" && details.dataset.outcome !== outcome.value);
      shown += !details.hidden;
    });
    for (const group of document.querySelectorAll(".task-runs")) {
      group.hidden = !group.querySelector("details:not([hidden])");
    }
    told.textContent = `${shown.toLocaleString("en")} of ${all.length.toLocaleString("en")} runs`;
  };
  search.addEventListener("input", narrow);
  outcome.addEventListener("change", narrow);
}
window.addEventListener("hashchange", () => goTo(decodeURIComponent(location.hash)));
goTo(decodeURIComponent(location.hash));
