// The trace in the middle: rows of one height, of which only those in sight are elements.

const rowHeight = 21, mostGone = 6, mostArguments = 6;
const pane = document.getElementById('trace'), sheet = document.getElementById('sheet');

/// The stage and the line in view. Only main.js changes them, through show() and select().
const view = {
  stage: null,
  place: -1,
  rows: [],
  found: new Set(),
  query: '',
  linked: new Set(),
  first: -1,
  last: -1,
  elements: new Map(),
  slowest: 1
};

/// The rows of a stage: {kind, place, id, depth, …}.
function rowsOf(stage, unfolded = false) {
  const rows = [], {status, gone} = stage.changes;
  const isOpen = (key, otherwise) => unfolded || (stage.folds.has(key) ? stage.folds.get(key) : otherwise);
  const addGone = anchor => {
    const ids = gone.get(anchor);
    if (!ids) return;
    const key = 'gone ' + anchor, open = isOpen(key, ids.length <= mostGone);
    const text = `${plural(ids.length, 'line')} ${open ? 'that the pass took away' : 'gone'}`;
    if (ids.length > mostGone) rows.push({kind: 'folded', key, open, status: 'gone', text});
    if (open) ids.forEach(id => rows.push({kind: 'gone', id, status: 'gone'}));
  };
  const count = stage.ids.findIndex(id => lines[id].kind !== Kind.argument),
        some = count < 0 ? stage.ids.length : count;
  rows.push({kind: 'head', text: stage.name});
  if (some > mostArguments)
    rows.push({kind: 'folded', key: 'arguments', open: isOpen('arguments', false), text: plural(some, 'argument')});
  addGone(-1);
  let source = -1;
  stage.ids.forEach((id, place) => {
    const line = lines[id];
    if (line.kind === Kind.argument) {
      if (some <= mostArguments || isOpen('arguments', false))
        rows.push({kind: 'line', id, place, status: status[place]});
      addGone(place);
      return;
    }
    if (line.source >= 0 && line.source !== source && !line.backward) {
      source = line.source;
      rows.push({kind: 'source', source});
    }
    const foldable = line.inside.length > 0, open = foldable && isOpen('line ' + place, false);
    rows.push({kind: 'line', id, place, status: status[place], foldable, open});
    if (open) line.inside.forEach(([depth, inner]) => rows.push({kind: 'inside', id: inner, depth, place}));
    addGone(place);
  });
  return rows;
}

const subgraphs = /"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*(?:::\w+)*|-?\d[\d.e+-]*|[^\w"]+|./g;
const keywords = new Set(['auto', 'return', 'del', 'true', 'false', 'Tensor', 'Int', 'Float', 'Bool', 'const']);

/// A line of code as elements: values can be pointed at.
function code(text, stage, made = []) {
  const out = h('span.code'), parts = text.match(subgraphs) || [];
  parts.forEach((part, i) => {
    if (stage && stage.definitions.has(part))
      out.append(h(made.includes(part) ? 'span.value.made' : 'span.value', {'data-value': part}, part));
    else if (/^"/.test(part)) out.append(h('span.string', {}, part));
    else if (/^-?\d/.test(part)) out.append(h('span.literal', {}, part));
    else if (keywords.has(part)) out.append(h('span.word', {}, part));
    else if (/^[A-Za-z_]/.test(part) && (parts[i + 1] || '').startsWith('(')) out.append(h('span.function', {}, part));
    else out.append(part);
  });
  return out;
}

function sourceText(source) {
  const [file, line] = given.sources[source], [name, text] = given.files[file];
  const said = text[line - 1];
  return `${name}:${line}${said === undefined ? '' : '  ' + said.trim()}`;
}

/// The element of one row.
function rowElement(row, stage) {
  const element = h('div.row' + (row.status ? '.' + row.status : ''));
  const number = text => element.append(h('span.number', {}, text));
  const hasCost = stage.isLast && stage.group.cost;
  const blank = () => hasCost && element.append(h('span.time'));
  if (row.kind === 'head') {
    number('');
    blank();
    const said = [h('span.function', {}, row.text), h('span.type', {}, plural(stage.ids.length, 'line'))];
    element.append(h('span.dot'), h('span.fold'), h('span', {}, said));
  } else if (row.kind === 'folded') {
    element.classList.add('folded');
    number('');
    blank();
    element.append(h('span.dot'), h('span.fold', {}, row.open ? '▾' : '▸'), row.text);
    element.dataset.fold = row.key;
  } else if (row.kind === 'source') {
    element.classList.add('source');
    number('');
    blank();
    element.append(h('span.say', {}, '// ' + sourceText(row.source)));
  } else {
    const line = lines[row.id];
    const isLine = row.kind === 'line';
    number(isLine ? row.place : '');
    if (hasCost) {
      const cost = isLine && stage.cost(row.place), part = cost ? Math.min(100, 100 * cost[0] / view.slowest) : 0;
      element.append(
          cost ? h('span.time', {style: `--part:${part}%; --shade:${shadeOf(line.executor)}`}, timeText(cost[0])) :
                 h('span.time'));
    }
    if (row.kind === 'inside') element.classList.add('inside');
    if (isLine && line.backward && !stage.group.isBackward) element.classList.add('backward');
    if (line.kind === Kind.deletion || line.kind === Kind.argument)
      element.classList.add(line.kind === Kind.deletion ? 'quiet' : 'argument');
    if (isLine && row.place === view.place) element.classList.add('selected');
    if (isLine && view.found.has(row.place)) element.classList.add('found');
    if (isLine && view.linked.has(row.place)) element.classList.add('linked');
    element.append(
        h('span.dot', {style: `--shade:${isLine && line.executor ? shadeOf(line.executor) : 'transparent'}`}));
    element.append(
        h('span.fold', row.foldable ? {'data-fold': 'line ' + row.place} : {},
          row.foldable ? (row.open ? '▾' : '▸') : ''));
    const text = line.text.replace(/\s*\n\s*/g, ' ');
    element.append(
        code('  '.repeat(row.depth || 0) + (text.length > 400 ? text.slice(0, 400) + ' …' : text), stage, line.names));
    if (line.types && line.kind !== Kind.unpacking) {
      const types =
          line.types.split('\n').map(type => type.slice(type.indexOf(': ') + 2).replace(/^cpu /, '')).join(', ');
      element.append(h('span.type', {}, types.length > 120 ? types.slice(0, 120) + ' …' : types));
    }
    if (isLine && line.executor && line.executor !== 'eager')
      element.append(h('span.who', {style: `--shade:${shadeOf(line.executor)}`}, line.executor));
    if (isLine) element.dataset.place = row.place;
    else if (row.place !== undefined) element.dataset.place = row.place;
    if (isLine) {
      element.setAttribute('role', 'option');
      element.setAttribute('aria-selected', row.place === view.place);
    }
  }
  return element;
}

/// Makes the rows that are in sight, and a few around them.
function paint(force = false) {
  const around = 24;
  const first = Math.max(0, Math.floor(pane.scrollTop / rowHeight) - around);
  const last = Math.min(view.rows.length, Math.ceil((pane.scrollTop + pane.clientHeight) / rowHeight) + around);
  if (!force && first >= view.first && last <= view.last && view.last - view.first < last - first + 4 * around) {
    const above = pane.scrollTop / rowHeight - view.first,
          below = view.last - (pane.scrollTop + pane.clientHeight) / rowHeight;
    if ((first === 0 || above > around / 2) && (last === view.rows.length || below > around / 2)) return;
  }
  view.first = first;
  view.last = last;
  const kept = new Map();
  for (const [i, element] of view.elements) {
    if (!force && i >= first && i < last) kept.set(i, element);
    else element.remove();
  }
  const made = [];
  for (let i = first; i < last; ++i) {
    if (kept.has(i)) continue;
    const element = rowElement(view.rows[i], view.stage);
    element.style.top = i * rowHeight + 'px';
    kept.set(i, element);
    made.push(element);
  }
  sheet.append(...made);
  view.elements = kept;
}

/// After the rows changed: what was in sight stays there.
function layOut() {
  view.rows = rowsOf(view.stage);
  view.rowOf = new Map();
  view.rows.forEach((row, i) => row.kind === 'line' && view.rowOf.set(row.place, i));
  sheet.style.height = (view.rows.length + 2) * rowHeight + 'px';
  paint(true);
}

function fold(key, open) {
  view.stage.folds.set(key, open);
  layOut();
}

/// Brings a line into sight, in the middle if it was not.
function reveal(place, always = false) {
  if (!view.rowOf.has(place)) {
    if (view.stage.line(place)?.kind !== Kind.argument) return;
    fold('arguments', true);
  }
  const top = view.rowOf.get(place) * rowHeight;
  if (always || top < pane.scrollTop + rowHeight || top > pane.scrollTop + pane.clientHeight - 3 * rowHeight)
    pane.scrollTop = Math.max(0, top - pane.clientHeight * 0.4);
}

// All places where the value under the pointer stands are lit, by one rule.
const lit = document.head.appendChild(document.createElement('style'));
function light(name) {
  const value = `[data-value="${CSS.escape(name || '')}"]`;
  lit.textContent =
      name ? `${value} { background: var(--lit); } .made${value} { outline: 1px solid var(--accent); }` : '';
}
