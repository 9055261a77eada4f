// The content of the page: lines, stages, the changes of each pass, the definitions and uses of values.

const given = JSON.parse(document.getElementById('data').textContent);
const Kind = {
  argument: 0,
  call: 1,
  unpacking: 2,
  deletion: 3,
  result: 4
};

const lines = given.lines.map(([kind, text, types, outputs, executor, source, inside, origins, backward]) => ({
                                kind,
                                text,
                                types,
                                outputs,
                                names: outputs ? outputs.split(' ') : [],
                                executor,
                                source,
                                inside,
                                origins,
                                backward
                              }));

const words = /[A-Za-z_]\w*/g;

/// One trace. Lines are spoken of by their place in it, its arguments first.
class Stage {
  constructor(group, place, {title, ms, name, lines: ids}) {
    Object.assign(this, {group, place, title, ms, name, ids});
    this.isLast = place === group.count - 1;
    this.folds = new Map();  // what the reader has opened (true) or closed (false)
  }
  get key() {
    return `${this.group.name.replace(/, /g, '-').replace(/ /g, '')}.${this.place}`;
  }
  get previous() {
    return this.place > 0 ? this.group.stages[this.place - 1] : null;
  }
  line(place) {
    return lines[this.ids[place]];
  }
  /// Its text on one row.
  text(place) {
    return this.line(place).text.replace(/\s*\n\s*/g, ' ');
  }

  /// By name, where a value is made; what is made inside of a line is made there.
  get definitions() {
    if (this.definitions_) return this.definitions_;
    const made = new Map();
    this.ids.forEach((id, place) => lines[id].names.forEach(name => made.has(name) || made.set(name, place)));
    this.ids.forEach(
        (id, place) => lines[id].inside.forEach(
            ([, inner]) => lines[inner].names.forEach(name => made.has(name) || made.set(name, place))));
    return this.definitions_ = made;
  }
  /// By name, where a value is used, in order; deletions left out.
  get uses() {
    if (this.uses_) return this.uses_;
    const uses = new Map();
    this.ids.forEach((id, place) => {
      if (lines[id].kind === Kind.deletion || lines[id].kind === Kind.argument) return;
      for (const name of this.argumentsOf(place)) {
        if (!uses.has(name)) uses.set(name, []);
        uses.get(name).push(place);
      }
    });
    return this.uses_ = uses;
  }
  /// The values among the words of a line, each once, without those that it makes.
  argumentsOf(place) {
    const line = this.line(place);
    const found = new Set((line.text.match(words) || []).filter(word => this.definitions.has(word)));
    line.names.forEach(name => found.delete(name));
    return [...found];
  }

  /// The changes of the pass that made this stage: for each line 'added', 'changed', 'claimed' or '', and the removed
  /// lines by the line that they stood behind.
  get changes() {
    if (this.changes_) return this.changes_;
    const status = new Array(this.ids.length).fill(''), gone = new Map(), before = new Map(),
          counts = {added: 0, gone: 0, changed: 0, claimed: 0};
    const result = {status, gone, before, counts};
    if (!this.previous) return this.changes_ = result;
    const keyOf = line => line.kind === Kind.argument ? 'argument ' + line.outputs : line.outputs || line.text;
    const old = new Map();
    this.previous.ids.forEach((id, place) => {
      const key = keyOf(lines[id]);
      if (old.has(key)) old.get(key).push(place);
      else old.set(key, [place]);
    });
    const survives = new Map();  // places there: places here
    this.ids.forEach((id, place) => {
      const places = old.get(keyOf(lines[id]));
      if (!places || !places.length) {
        status[place] = 'added';
        ++counts.added;
        return;
      }
      const from = places.shift(), was = this.previous.ids[from];
      survives.set(from, place);
      if (was === id) return;
      const a = lines[was], b = lines[id];
      const kind = a.text !== b.text || a.types !== b.types ? 'changed' : a.executor !== b.executor ? 'claimed' : '';
      if (!kind) return;
      status[place] = kind;
      before.set(place, was);
      ++counts[kind];
    });
    let anchor = -1;
    this.previous.ids.forEach((id, place) => {
      if (survives.has(place)) {
        anchor = survives.get(place);
        return;
      }
      if (!gone.has(anchor)) gone.set(anchor, []);
      gone.get(anchor).push(id);
      ++counts.gone;
    });
    return this.changes_ = result;
  }

  /// [microseconds, bytes read, written, operations, share of limit], or nothing.
  cost(place) {
    const cost = this.isLast && this.group.cost && this.group.cost[place - this.group.arguments];
    return cost || null;
  }
  alive(place) {
    return this.isLast && this.group.alive ? this.group.alive[place - this.group.arguments] : undefined;
  }
}

const groups = given.groups.map(raw => {
  const group = Object.assign({}, raw, {count: raw.stages.length});
  group.stages = raw.stages.map((stage, place) => new Stage(group, place, stage));
  group.last = group.stages[group.count - 1];
  group.isBackward = raw.name.startsWith('backward');
  return group;
});
const stages = groups.flatMap(group => group.stages);
/// The forward of a backward's piece, and the other way round.
const partnerOf = group => groups.find(
    other => other !== group && !other.name.startsWith('prologue') &&
        other.name.replace(/^\w+/, '') === group.name.replace(/^\w+/, ''));

/// [stage, place, why] of the lines on the other side that belong to a line: a forward line's backward lines, or the
/// other way round.
function partners(stage, place) {
  const group = partnerOf(stage.group);
  if (!group || stage.group.name.startsWith('prologue')) return [];
  const line = stage.line(place), found = [];
  if (stage.group.isBackward) {
    for (const [name, why] of line.origins) {
      const at = group.last.definitions.get(name);
      if (at !== undefined && !found.some(f => f[1] === at)) found.push([group.last, at, why]);
    }
    return found;
  }
  const names = new Set(line.names);
  line.inside.forEach(([, id]) => lines[id].names.forEach(name => names.add(name)));
  group.last.ids.forEach((id, at) => {
    const origin = lines[id].origins.find(([name]) => names.has(name));
    if (origin) found.push([group.last, at, origin[1]]);
  });
  return found;
}

// Figures as people read them.
function timeText(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(2) + ' s';
  if (us >= 1e3) return (us / 1e3).toFixed(us >= 1e5 ? 0 : us >= 1e4 ? 1 : 2) + ' ms';
  return us.toFixed(us >= 100 ? 0 : us >= 10 ? 1 : 2) + ' µs';
}
function amountText(value, units, base) {
  let unit = 0;
  for (; value >= base && unit < units.length - 1; ++unit) value /= base;
  return (unit === 0 || value >= 100 ? value.toFixed(0) : value.toPrecision(3)) + ' ' + units[unit];
}
const bytesText = bytes => amountText(bytes, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
const operationsText = count => amountText(count, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP'], 1000);
const rateText = (rate, unit) => amountText(rate, ['', 'k', 'M', 'G', 'T'].map(prefix => prefix + unit), 1000);
const largest = list => list.reduce((most, value) => Math.max(most, value), 0);
const percent = part => (100 * part).toFixed(part < 0.0995 ? 1 : 0) + ' %';
const plural = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
const shadedExecutors = ['eager', 'onednn', 'fuser', 'gemm'];
/// The colour of an executor; ops without one are views.
const shadeOf = executor => {
  if (!executor) return 'var(--view)';
  return `var(--${shadedExecutors.includes(executor) ? executor : 'other'})`;
};

/// An element. Children are elements or texts; texts are never markup, so names may be anything.
function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') element.style.cssText = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}
