"use strict";
// Lists cases behind the cells of the maps. Every text goes in as text, never as markup.
const pageIsReady = (async () => {
  const $ = (id) => document.getElementById(id);
  // The element has base64 of gzip of JSON, which is a fifth of the JSON.
  const unpacked = async () => {
    const packed = Uint8Array.from(atob($("data").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };
  const data = await unpacked().catch((error) => {
    $("unreadable").hidden = false;
    throw error;
  });
  const PAGE = 60;
  const KNOWN = data.verdicts.indexOf("known-failure");
  const maps = [...document.querySelectorAll(".map")];
  const state = { backend: 0, cell: null, words: [], verdict: "", shown: PAGE, opener: null };

  const tested = data.backends.findIndex((name) => name !== data.reference);
  state.backend = Math.max(tested, 0);

  // A stored result is a number for an exact pass, that of what served it, else a row; `verdict` numbers into data.verdicts.
  const result = (raw) => {
    const [verdict, ulp, share, served, note, worst, fallbacks] = typeof raw === "number" ? [0, 0, 0, raw] : raw;
    const number = (x) => (typeof x === "string" ? (x === "inf" ? Infinity : NaN) : x);
    return { verdict, ulp: number(ulp), share: number(share), note: data.notes[note], worst, fallbacks: fallbacks ?? [],
      served: data.served[served] };
  };

  const matches = (item) => {
    const { verdict } = item.result;
    if (state.verdict === "!" && !data.fails[verdict]) return false;
    if (state.verdict && state.verdict !== "!" && data.verdicts[verdict] !== state.verdict) return false;
    return state.words.every((word) => item.text.includes(word));
  };

  // One list a backend and cell, made when first needed.
  const lists = new Map();
  const items = (cell) => {
    const key = state.backend + ":" + cell;
    if (!lists.has(key)) {
      const [family, op, dtype, cases] = data.cells[cell];
      // An id is stored as the number of its end, or as parameters, that, and dtypes that are not the cell's; any other as it is.
      const whole = (id) => {
        if (typeof id === "string") return id;
        const [params, end, dtypes = dtype] = typeof id === "number" ? ["", id] : id;
        return family + "/" + op + params + ":" + dtypes + ":" + data.ends[end];
      };
      lists.set(key, cases.map(([id, limit, ...results]) => ({
        id: whole(id), limit: data.limits[limit], result: result(results[state.backend]),
        text: (whole(id) + " " + family + "/" + op + " " + dtype).toLowerCase(),
      })));
    }
    return lists.get(key);
  };

  const rank = ({ result: r }) =>
    (data.fails[r.verdict] ? 4e9 : r.verdict === KNOWN ? 2e9 : 0) + Math.min(r.share || 0, 1e6) * 1e3 + Math.min(r.ulp || 0, 1e2);

  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (name) node.className = name;
    return node;
  };

  const figure = (x) => (x === Infinity ? "inf" : x >= 1e4 ? x.toExponential(1) : String(Number(x.toPrecision(3))));
  const errorText = (r) => {
    if (r.ulp === null) return "no value";
    if (r.ulp === 0 && r.share === 0) return "exact";
    return figure(r.ulp) + " ULP, " + (r.share > 10 ? ">1000" : figure(r.share * 100)) + " % of the limit";
  };

  const facts = (item) => {
    const { result: r, limit, id } = item;
    const list = make("dl");
    const add = (name, text) => { list.append(make("dt", name), make("dd", text)); };
    if (r.note) add("note", r.note);
    if (r.worst) {
      const [index, expected, got, limitHere, absolute, inputs = []] = r.worst;
      add("worst at", "[" + index.join(", ") + "]" + (inputs.length ? ", inputs " + inputs.join(", ") : ""));
      add("expected", expected);
      add("got", got);
      add("limit there", data.limits[limitHere].replace("{}", absolute));
    }
    if (r.fallbacks.length) add("on the CPU", r.fallbacks.join(", "));
    if (r.served) add("served by", r.served);
    add("limit", limit);
    const again = make("dd");
    again.append(make("pre", "parity run" + data.on[state.backend] + " --case '" + id + "'" +
      (data.args ? " " + data.args : "")));
    list.append(make("dt", "again"), again);
    return list;
  };

  const caseNode = (item, open) => {
    const { result: r } = item;
    const node = make("details", undefined, "case");
    const line = make("summary");
    const color = data.fails[r.verdict] ? "bad" : r.verdict === KNOWN ? "known" : "good";
    line.append(make("b", data.verdicts[r.verdict], "verdict " + color), " ", make("code", item.id), " ",
      make("span", errorText(r), "error"));
    node.append(line);
    const fill = () => { if (node.open && !node.querySelector("dl")) node.append(facts(item)); };
    node.addEventListener("toggle", fill);
    node.open = open;
    return node;
  };

  const filtering = () => state.words.length > 0 || state.verdict !== "";

  const renderPanel = (found) => {
    const list = state.cell === null ? found : items(state.cell).filter(matches);
    const visible = state.cell !== null || filtering();
    $("panel").hidden = !visible;
    document.querySelector(".split").classList.toggle("open", visible);
    if (!visible) return;
    const sorted = [...list].sort((a, b) => rank(b) - rank(a));
    const backend = data.backends[state.backend];
    const cell = state.cell === null ? null : data.cells[state.cell];
    $("panel-title").textContent = (cell ? cell[0] + "/" + cell[1] + " " + cell[2] : "Matching cases") + " on " + backend;
    $("panel-sum").textContent =
      sorted.length === 0 ? "No case matches." : sorted.length === 1 ? "1 case" : sorted.length + " cases, worst first";
    const part = sorted.slice(0, state.shown);
    $("cases").replaceChildren(...part.map((item, i) => caseNode(item, i === 0 && cell !== null)));
    $("more").hidden = sorted.length <= state.shown;
    $("more").textContent = "Show " + Math.min(PAGE, sorted.length - state.shown) + " more";
  };

  const render = () => {
    maps.forEach((map, i) => { map.hidden = i !== state.backend; });
    const found = [];
    for (const row of maps[state.backend].querySelectorAll("tr.op")) {
      let any = false;
      for (const button of row.querySelectorAll("button")) {
        const cell = Number(button.dataset.cell);
        const here = filtering() ? items(cell).filter(matches) : [];
        const hit = !filtering() || here.length > 0;
        if (hit) found.push(...here);
        any = any || hit;
        button.classList.toggle("dim", !hit);
        button.setAttribute("aria-pressed", String(cell === state.cell));
      }
      row.hidden = !any;
    }
    for (const body of maps[state.backend].querySelectorAll("tbody")) {
      body.hidden = ![...body.querySelectorAll("tr.op")].some((row) => !row.hidden);
    }
    $("found").textContent = filtering() ? found.length + " matching" : "";
    for (const radio of document.querySelectorAll("[name=backend]")) radio.checked = Number(radio.value) === state.backend;
    renderPanel(found);
    makeReachable();
  };

  // One cell of the map is in the tab order; arrow keys move from there.
  const cells = () => [...maps[state.backend].querySelectorAll("tr.op:not([hidden]) button")];
  const makeReachable = () => {
    const all = cells();
    const chosen = all.find((b) => b.tabIndex === 0) || all.find((b) => Number(b.dataset.cell) === state.cell) || all[0];
    for (const button of maps[state.backend].querySelectorAll("button")) button.tabIndex = button === chosen ? 0 : -1;
  };
  const move = (from, dx, dy) => {
    const td = from.closest("td");
    const column = td.cellIndex;
    const row = td.parentElement;
    if (dx) {
      const inRow = [...row.querySelectorAll("button")];
      return inRow[inRow.indexOf(from) + dx];
    }
    const rows = [...maps[state.backend].querySelectorAll("tr.op")].filter((r) => !r.hidden);
    for (let i = rows.indexOf(row) + dy; rows[i]; i += dy) {
      const button = rows[i].cells[column].querySelector("button");
      if (button) return button;
    }
    return undefined;
  };

  const select = (cell, opener) => {
    Object.assign(state, { cell, shown: PAGE, opener });
    const [family, op, dtype] = data.cells[cell];
    history.replaceState(null, "", "#" + [data.backends[state.backend], family, op, dtype].map(encodeURIComponent).join("/"));
    render();
    $("panel-title").focus({ preventScroll: true });
    $("panel").scrollTop = 0;
    // Above the list, which covers the lower part of a narrow screen.
    opener.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const close = () => {
    const { opener } = state;
    Object.assign(state, { cell: null, words: [], verdict: "", opener: null });
    $("filter").value = "";
    $("verdict").value = "";
    history.replaceState(null, "", location.pathname + location.search);
    render();
    if (opener) opener.focus();
  };
  const setFilter = (change) => {
    Object.assign(state, change, { cell: null, shown: PAGE });
    render();
  };

  for (const map of maps) {
    // What the tooltip says is the cell's name; its figure alone says too little.
    for (const button of map.querySelectorAll("button")) button.setAttribute("aria-label", button.title);
    map.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) select(Number(button.dataset.cell), button);
    });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const button = event.target.closest("button");
      const next = step && button && move(button, ...step);
      if (!next) return;
      event.preventDefault();
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
  $("filter").addEventListener("input", (event) =>
    setFilter({ words: event.target.value.toLowerCase().split(/\s+/).filter(Boolean) }));
  $("verdict").addEventListener("change", (event) => setFilter({ verdict: event.target.value }));
  for (const radio of document.querySelectorAll("[name=backend]")) {
    radio.addEventListener("change", () => { state.backend = Number(radio.value); render(); });
  }
  for (const button of document.querySelectorAll("button.verdict")) {
    button.addEventListener("click", () => {
      state.backend = Number(button.dataset.backend);
      $("verdict").value = button.dataset.verdict;
      setFilter({ verdict: button.dataset.verdict });
      $("panel-title").focus();
    });
  }
  $("close").addEventListener("click", close);
  $("more").addEventListener("click", () => { state.shown += PAGE; render(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !$("panel").hidden) close(); });
  document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".controls").hidden = false;

  // `#rocm/unary/exp/f32` opens that cell.
  const [backend, ...cell] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const place = data.backends.indexOf(backend);
  const number = data.cells.findIndex((known) => known.slice(0, 3).join("/") === cell.join("/"));
  render();
  if (place >= 0 && number >= 0) {
    state.backend = place;
    select(number, maps[place].querySelector('[data-cell="' + number + '"]'));
  }
})();
