// The strip above the trace, and memory over time.

const strip = document.getElementById('strip'), canvas = strip.querySelector('canvas'),
      stripText = document.getElementById('strip-text');
const palette = new Map();  // of the theme
function colour(name) {
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return palette.get(name);
}
const colourOf = executor => colour(shadeOf(executor).slice(4, -1));

/// Bytes alive while the lines run.
function drawMemory(pen, stage, whole, {left, right, floor, room}) {
  const most = Math.max(1, largest(stage.group.alive)), path = new Path2D();
  let at = left;
  path.moveTo(left, floor);
  stage.ids.forEach((_, place) => {
    const cost = stage.cost(place), alive = stage.alive(place);
    if (alive !== undefined) path.lineTo(at, floor - room * alive / most);
    if (!cost) return;
    at += (right - left) * cost[0] / whole;
    path.lineTo(at, floor - room * alive / most);
  });
  path.lineTo(right, floor);
  pen.fillStyle = colour('--memory-ground');
  pen.fill(path);
  pen.strokeStyle = colour('--memory');
  pen.lineWidth = 1;
  pen.stroke(path);
}

/// As run: a bar for each line, as wide as it took long and as high as it uses the machine, with memory behind. Before:
/// where the pass changed something.
function drawStrip() {
  const {stage} = view, width = strip.clientWidth, height = strip.clientHeight, scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext('2d');
  pen.scale(scale, scale);
  const left = 16, right = width - 16, floor = height - 7, room = height - 26;
  strip.bars = [];
  if (stage.isLast && stage.group.cost) {
    const whole = stage.group.cost.reduce((sum, cost) => sum + (cost ? cost[0] : 0), 0);
    drawMemory(pen, stage, whole, {left, right, floor, room});
    let at = left;
    stage.ids.forEach((id, place) => {
      const cost = stage.cost(place), line = lines[id];
      if (!cost) return;
      const wide = (right - left) * cost[0] / whole, high = Math.max(2, Math.min(1, cost[4] || 0.05) * room);
      pen.fillStyle = colourOf(line.executor);
      pen.globalAlpha = place === view.place ? 1 : 0.75;
      pen.fillRect(at, floor - high, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), high);
      if (place === view.place) {
        pen.fillStyle = colour('--accent');
        pen.fillRect(at, floor + 1, Math.max(2, wide), 3);
      }
      strip.bars.push([at, at + wide, place]);
      at += wide;
    });
    pen.globalAlpha = 1;
    stripText.textContent =
        `${timeText(whole)}: width is time, height the share of the machine's limit; behind it memory`;
  } else {
    const {status, gone, counts} = stage.changes, wide = (right - left) / Math.max(1, stage.ids.length);
    stage.ids.forEach((id, place) => {
      const x = left + place * wide, kind = status[place];
      pen.fillStyle = kind ? colour(kind === 'claimed' ? '--onednn' : '--' + kind) : colour('--rule');
      pen.fillRect(
          x, floor - (kind ? room : room * 0.35), Math.max(0.6, wide - (wide > 3 ? 1 : 0)), kind ? room : room * 0.35);
      if (gone.has(place)) {
        pen.fillStyle = colour('--gone');
        pen.fillRect(x + wide - 0.75, floor - room, 1.5, room);
      }
      if (place === view.place) {
        pen.fillStyle = colour('--accent');
        pen.fillRect(x, floor + 1, Math.max(2, wide), 3);
      }
      strip.bars.push([x, x + wide, place]);
    });
    const said =
        ['added', 'gone', 'changed', 'claimed'].filter(kind => counts[kind]).map(kind => `${counts[kind]} ${kind}`);
    stripText.textContent = stage.previous ? said.length ? said.join(', ') : 'this pass found nothing to do' :
                                             plural(stage.ids.length, 'line');
  }
}

/// The place under a point of the strip.
const placeInStrip = x => (strip.bars.find(([from, to]) => x >= from && x < to) || [])[2];

function memoryPicture(group) {
  const width = 400, height = 110, most = Math.max(1, group.inputs, largest(group.alive)), count = group.alive.length;
  const x = i => (width * (i + 1)) / count, y = bytes => height - (height - 14) * bytes / most;
  const space = 'http://www.w3.org/2000/svg', make = (tag, attributes, text) => {
    const element = document.createElementNS(space, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const label = `Memory: ${bytesText(most)} at the peak`;
  const picture =
      make('svg', {viewBox: `0 0 ${width} ${height + 14}`, class: 'picture', role: 'img', 'aria-label': label});
  let path = `M0 ${y(group.inputs).toFixed(1)}`;
  group.alive.forEach((bytes, i) => path += `V${y(bytes).toFixed(1)}H${x(i).toFixed(1)}`);
  picture.append(
      make('path', {d: `${path}L${width} ${height}L0 ${height}Z`, style: 'fill:var(--memory-ground)'}),
      make('path', {d: path, style: 'fill:none;stroke:var(--memory);stroke-width:1.4'}));
  picture.append(
      make('line', {
        x1: 0,
        x2: width,
        y1: y(group.inputs),
        y2: y(group.inputs),
        style: 'stroke:var(--faint);stroke-dasharray:2 3'
      }),
      make('text', {x: 0, y: height + 12}, `inputs ${bytesText(group.inputs)}`));
  if (group.peak >= 0) {
    const px = x(group.peak), end = px > width * 0.7;
    picture.append(
        make('circle', {cx: px, cy: y(most), r: 3.2, style: 'fill:var(--accent)'}),
        make(
            'text', {x: px + (end ? -7 : 7), y: y(most) + 3, 'text-anchor': end ? 'end' : 'start'},
            `${bytesText(most)} after line ${group.peak + group.arguments}`));
  }
  picture.style.cursor = 'pointer';
  picture.addEventListener('click', event => {
    const box = picture.getBoundingClientRect(), i = Math.round((event.clientX - box.left) / box.width * count) - 1;
    show(group.last, Math.max(0, Math.min(count - 1, i)) + group.arguments);
  });
  return picture;
}
