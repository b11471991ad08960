"use strict";
// Copy buttons, and a closer look at a part of a timeline. Without this script the page has all that it says.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }
  for (const button of all("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }

  addEventListener("beforeprint", () => all("details").forEach((one) => { one.open = true; }));

  // The marks of a lane: [column, class, count] each; timeline_data.rs says how they are written.
  function marksOf(text) {
    let column = 0, kind = 0;
    return text.split(" ").filter((entry) => entry).map((entry) => {
      const [gap, own, count] = entry.split(".").map((digits) => parseInt(digits, 36));
      column += gap;
      kind = own ?? kind;
      return [column, kind, count ?? 1];
    });
  }

  // The height of each class in a column of pixels: its share, and at least what can be seen.
  function heightsOf(counts, bar, least) {
    const total = counts.reduce((sum, count) => sum + count, 0);
    const heights = counts.map((count) => (count ? Math.max(Math.floor((bar * count) / total), least) : 0));
    const sum = () => heights.reduce((all, height) => all + height, 0);
    while (sum() > bar) heights[heights.indexOf(Math.max(...heights))]--;
    if (total) heights[counts.indexOf(Math.max(...counts))] += bar - sum();
    return heights;
  }

  const seconds = (ns) => (ns && ns < 1e9 ? `${+(ns / 1e6).toFixed(4)} ms` : `${+(ns / 1e9).toFixed(4)} s`);

  function element(name, attributes, parent) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    parent.append(made);
    return made;
  }

  for (const box of all(".timeline")) {
    const svg = box.querySelector("svg");
    const number = (key) => Number(box.dataset[key]);
    const [window_, columns, left, width, bar, least, axisTop] =
      ["window", "columns", "left", "width", "bar", "least", "axis"].map(number);
    const colours = box.dataset.colours.split(" ").concat("8");
    const meanings = box.dataset.meanings.split("\n").concat("other causes");
    if (!window_ || !width) continue;
    const lanes = all("g[data-marks]", svg).map((group) => ({
      top: Number(group.dataset.top),
      name: group.querySelector("text")?.textContent ?? "",
      marks: marksOf(group.dataset.marks),
      drawn: group.querySelector("g.marks"),
    }));
    const axis = svg.querySelector("g.axis");
    const title = svg.querySelector("text");
    const original = { title: title.textContent, axis: axis.innerHTML, lanes: lanes.map((lane) => lane.drawn.innerHTML) };
    // The finest view still has two columns of marks for each of pixels.
    const shortest = window_ / Math.max(1, columns / width);
    let [begin, end] = [0, window_];

    const bars = document.createElement("div");
    bars.className = "zoom";
    const said = document.createElement("output");
    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      bars.append(made);
      return made;
    };
    const about = (factor) => () => {
      const [middle, half] = [(begin + end) / 2, ((end - begin) / 2) * factor];
      show(middle - half, middle + half);
    };
    const closer = button("+", "zoom in", about(0.5));
    const farther = button("−", "zoom out", about(2));
    const earlier = button("◀", "earlier", () => show(begin - (end - begin) / 2, end - (end - begin) / 2));
    const later = button("▶", "later", () => show(begin + (end - begin) / 2, end + (end - begin) / 2));
    const reset = button("all", "the complete window", () => show(0, window_));
    bars.append(said);
    box.closest("figure").querySelector(".scroll").after(bars);

    function show(from, to) {
      const length = Math.min(Math.max(to - from, shortest), window_);
      begin = Math.min(Math.max(0, from), window_ - length);
      end = begin + length;
      const complete = length >= window_;
      if (complete) {
        title.textContent = original.title;
        axis.innerHTML = original.axis;
        lanes.forEach((lane, at) => { lane.drawn.innerHTML = original.lanes[at]; });
      } else {
        title.textContent = `from ${seconds(begin)} to ${seconds(end)}`;
        lanes.forEach(draw);
        label();
      }
      closer.disabled = length <= shortest;
      farther.disabled = reset.disabled = complete;
      earlier.disabled = begin <= 0;
      later.disabled = end >= window_;
      said.textContent = "drag over the timeline to enlarge a part";
    }

    function draw(lane) {
      const places = Math.floor(width / 2);
      const counts = new Map();
      for (const [column, kind, count] of lane.marks) {
        const at = (((column + 0.5) / columns) * window_ - begin) / (end - begin);
        if (at < 0 || at >= 1) continue;
        const place = Math.floor(at * places);
        if (!counts.has(place)) counts.set(place, colours.map(() => 0));
        counts.get(place)[kind] += count;
      }
      const paths = colours.map(() => "");
      for (const [place, of] of counts) {
        let bottom = lane.top + bar;
        heightsOf(of, bar, least).forEach((height, kind) => {
          bottom -= height;
          if (height) paths[kind] += `M${left + place * 2} ${bottom}h2v${height}h-2z`;
        });
      }
      lane.drawn.replaceChildren();
      paths.forEach((d, kind) => {
        if (d) element("path", { class: `c${colours[kind]}`, d }, lane.drawn);
      });
    }

    function label() {
      axis.replaceChildren();
      element("path", { class: "rule", stroke: "#9a9a9a", d: `M${left} ${axisTop}h${width}` }, axis);
      const rough = (end - begin) / Math.max(1, Math.floor(width / 80));
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
      for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
        const x = Math.round(left + ((at - begin) / (end - begin)) * width);
        element("path", { class: "rule", stroke: "#9a9a9a", d: `M${x} ${axisTop}v5` }, axis);
        const text = { class: "soft", fill: "#5a5a5a", x, y: axisTop + 19, "text-anchor": "middle" };
        element("text", text, axis).textContent = seconds(at);
      }
    }

    // A place in the picture, which may be shown smaller than it is.
    function placeOf(event) {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return { share: (at.x - left) / width, y: at.y };
    }
    const timeAt = (share) => begin + Math.min(Math.max(share, 0), 1) * (end - begin);

    let from = null, chosen = null;
    svg.addEventListener("pointerdown", (event) => {
      const { share } = placeOf(event);
      if (event.button || share < 0 || share > 1) return;
      from = share;
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      const { share, y } = placeOf(event);
      if (from !== null) {
        chosen ??= element("rect", { class: "chosen", y: 36, height: axisTop - 36 }, svg);
        const [a, b] = [Math.max(0, Math.min(from, share)), Math.min(1, Math.max(from, share))];
        chosen.setAttribute("x", left + a * width);
        chosen.setAttribute("width", (b - a) * width);
        said.textContent = `from ${seconds(timeAt(a))} to ${seconds(timeAt(b))}`;
        return;
      }
      const lane = lanes.find((one) => y >= one.top && y <= one.top + bar);
      if (lane && share >= 0 && share <= 1) said.textContent = what(lane, timeAt(share));
    });
    addEventListener("pointerup", (event) => {
      if (from === null) return;
      const { share } = placeOf(event);
      if (Math.abs(share - from) > 0.005) show(timeAt(Math.min(from, share)), timeAt(Math.max(from, share)));
      from = null;
      chosen?.remove();
      chosen = null;
    });

    // What a lane has within two columns of pixels of a time.
    function what(lane, time) {
      const reach = Math.max(((end - begin) / width) * 2, window_ / columns);
      const counts = new Map();
      for (const [column, kind, count] of lane.marks) {
        const at = ((column + 0.5) / columns) * window_;
        if (Math.abs(at - time) <= reach) counts.set(kind, (counts.get(kind) ?? 0) + count);
      }
      const parts = [...counts].map(([kind, count]) => `${count} × ${meanings[kind]}`);
      return `${lane.name}, at ${seconds(time)}: ${parts.join("; ") || "none"}`;
    }
    show(0, window_);
  }
})();
