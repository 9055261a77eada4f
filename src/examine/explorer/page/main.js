// The reader's actions: stages, lines, keys, the search, light and dark, printing.

const rail = document.getElementById('rail'), search = document.getElementById('search'),
      root = document.documentElement;

function drawRail() {
  rail.replaceChildren(...groups.flatMap(group => [h('h2', {}, group.name), ...group.stages.map(stage => {
                                           const counts = h('span.counts', {}, plural(stage.ids.length, 'line'));
                                           const button =
                                               h('button.stage' + (stage.isLast ? '.last' : ''), {title: stage.title},
                                                 stage.title, counts);
                                           button.addEventListener('click', () => show(stage));
                                           stage.button = button;
                                           return button;
                                         })]));
  // The changes of each pass are looked up when there is time.
  const waiting = [...stages], later = work => setTimeout(work, 5);
  const countNext = () => {
    const stage = waiting.shift();
    if (!stage) return;
    countChanges(stage);
    later(countNext);
  };
  later(countNext);
}

function countChanges(stage) {
  if (!stage.previous) return;
  const {added, gone, changed, claimed} = stage.changes.counts;
  const counts = stage.button.querySelector('.counts');
  counts.replaceChildren(
      plural(stage.ids.length, 'line'),
      ...[[added, '+', 'plus'], [gone, '−', 'minus'], [changed + claimed, '~', 'tilde']].flatMap(
          ([count, sign, kind]) => count ? ['  ', h('span.' + kind, {}, sign + count)] : []));
}

/// Looks at a stage, and at one of its lines if one is given.
function show(stage, place = -1) {
  if (view.stage !== stage) {
    if (view.stage) {
      view.stage.top = pane.scrollTop;
      view.stage.button.classList.remove('current');
    }
    view.stage = stage;
    stage.button.classList.add('current');
    stage.button.scrollIntoView({block: 'nearest'});
    view.slowest = Math.max(1e-9, largest((stage.isLast && stage.group.cost || []).map(cost => cost ? cost[0] : 0)));
    view.place = -1;
    find(view.query);
    layOut();
    pane.scrollTop = stage.top || 0;
    say();
  }
  select(place, true);
}

/// The lines that use what a line makes.
const usersOf = place =>
    view.stage.line(place).names.flatMap(name => view.stage.uses.get(name) || []).sort((a, b) => a - b);

function select(place, centre = false) {
  const {stage} = view;
  view.place = place;
  view.linked = new Set(
      place < 0 ? [] : stage.argumentsOf(place).map(name => stage.definitions.get(name)).concat(usersOf(place)));
  if (place >= 0) reveal(place, centre && !view.rowOf.has(place));
  paint(true);
  inspector.replaceChildren(...(place < 0 ? overview() : inspectLine(stage, place)).flat().filter(Boolean));
  inspector.scrollTop = 0;
  drawStrip();
  const hash = `#${stage.key}${place < 0 ? '' : '.' + place}`;
  if (location.hash !== hash) history.replaceState(null, '', hash);
}

function say() {
  const {stage} = view, parts = [`${stage.group.name}: ${stage.title}`, plural(stage.ids.length, 'line')];
  if (view.query) parts.push(`${view.found.size} with “${view.query}”`);
  else if (stage.ms >= 0.05) parts.push(`the pass took ${timeText(1000 * stage.ms)}`);
  document.getElementById('summary').textContent = parts.join('  ·  ');
}

// Moving.

const lineRows = () => view.rows.filter(row => row.kind === 'line');
function step(by) {
  const all = lineRows(), at = all.findIndex(row => row.place === view.place);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))];
  if (next) select(next.place);
}
function stepTo(places, by = 1) {
  if (!places.length) return;
  const next =
      by > 0 ? places.find(place => place > view.place) : [...places].reverse().find(place => place < view.place);
  select(next !== undefined ? next : by > 0 ? places[0] : places[places.length - 1], true);
}
function stepStage(by) {
  const next = stages[stages.indexOf(view.stage) + by];
  if (!next) return;
  // The same line there, if it has it.
  const name = view.place >= 0 ? view.stage.line(view.place).names[0] : undefined,
        at = name === undefined ? undefined : next.definitions.get(name);
  show(next, at === undefined ? -1 : at);
}
const changedPositions = () =>
    view.stage.changes.status.flatMap((kind, place) => kind || view.stage.changes.gone.has(place) ? [place] : []);
function toggle(open) {
  const line = view.place >= 0 && view.stage.line(view.place);
  if (line && line.inside.length) fold('line ' + view.place, open);
}
function other() {
  const found = view.place >= 0 ? partners(view.stage, view.place) : [];
  if (found.length) show(found[0][0], found[0][1]);
}
function slowest() {
  const measured = view.stage.group.cost ? view.stage.group : groups.find(group => group.cost);
  if (!measured) return;
  if (view.stage !== measured.last) show(measured.last);
  const {stage} = view, places = stage.ids.map((_, place) => place).filter(place => stage.cost(place));
  const order = places.sort((a, b) => stage.cost(b)[0] - stage.cost(a)[0]);
  const at = order.indexOf(view.place);
  select(order[at < 0 ? 0 : (at + 1) % order.length], true);
}

function find(query) {
  view.query = query.trim().toLowerCase();
  view.found = new Set();
  if (view.query)
    view.stage.ids.forEach((id, place) => {
      const line = lines[id],
            texts = [line.text, line.types, line.executor, line.source >= 0 ? sourceText(line.source) : ''];
      if (texts.some(text => text.toLowerCase().includes(view.query))) view.found.add(place);
    });
}

search.addEventListener('input', () => {
  find(search.value);
  say();
  const next = [...view.found].find(place => place >= view.place) ?? [...view.found][0];
  if (next !== undefined) reveal(next);
  paint(true);
});
search.addEventListener('keydown', event => {
  if (event.key === 'Enter') stepTo([...view.found], event.shiftKey ? -1 : 1);
  else if (event.key === 'Escape') {
    search.value = '';
    find('');
    say();
    pane.focus();
    paint(true);
  } else return;
  event.preventDefault();
});

const first = () => select(lineRows()[0].place), last = () => select(lineRows().pop().place);
const keys = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  PageDown: () => step(20),
  PageUp: () => step(-20),
  g: first,
  G: last,
  Home: first,
  End: last,
  '[': () => stepStage(-1),
  ']': () => stepStage(1),
  n: () => stepTo(changedPositions()),
  p: () => stepTo(changedPositions(), -1),
  ArrowRight: () => toggle(true),
  ArrowLeft: () => toggle(false),
  Enter: () => view.found.size ? stepTo([...view.found]) : toggle(!view.stage.folds.get('line ' + view.place)),
  d: () => view.place >= 0 &&
      stepTo(view.stage.argumentsOf(view.place).slice(0, 1).map(name => view.stage.definitions.get(name))),
  u: () => view.place >= 0 && stepTo(usersOf(view.place)),
  f: other,
  h: slowest,
  o: () => select(-1),
  Escape: () => select(-1),
  t: () => setTheme(root.dataset.theme === 'dark' ? 'light' : 'dark'),
  '/': () => search.focus(),
  '?': () => document.getElementById('keys').showModal(),
};
document.addEventListener('keydown', event => {
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey || document.getElementById('keys').open)
    return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// Pointing.

sheet.addEventListener('click', event => {
  const folded = event.target.closest('[data-fold]');
  if (folded) {
    const key = folded.dataset.fold, row = view.rows.find(r => r.key === key || key === 'line ' + r.place);
    fold(key, !row.open);
    return;
  }
  const value = event.target.closest('[data-value]'), row = event.target.closest('.row');
  const made = value && view.stage.definitions.get(value.dataset.value);
  if (value && made !== undefined && !value.classList.contains('made')) select(made);
  else if (row && row.dataset.place !== undefined) select(Number(row.dataset.place));
});
sheet.addEventListener('dblclick', event => {
  const row = event.target.closest('.row');
  if (row && row.dataset.place !== undefined) toggle(!view.stage.folds.get('line ' + row.dataset.place));
});
for (const place of [sheet, inspector]) {
  place.addEventListener('mouseover', event => light(event.target.closest('[data-value]')?.dataset.value));
  place.addEventListener('mouseleave', () => light(''));
}
inspector.addEventListener('click', event => {
  const value = event.target.closest('.statement [data-value]');
  if (value) select(view.stage.definitions.get(value.dataset.value), true);
});
strip.addEventListener('click', event => {
  const place = placeInStrip(event.offsetX);
  if (place !== undefined) select(place, true);
});
strip.addEventListener('mousemove', event => {
  const place = placeInStrip(event.offsetX);
  const cost = place === undefined ? null : view.stage.cost(place);
  strip.title =
      place === undefined ? '' : view.stage.text(place).slice(0, 200) + (cost ? '\n' + timeText(cost[0]) : '');
});
pane.addEventListener('scroll', () => paint());
window.addEventListener('resize', () => {
  paint(true);
  drawStrip();
});
document.getElementById('overview').addEventListener('click', () => select(-1));
document.getElementById('help').addEventListener('click', keys['?']);
document.getElementById('theme').addEventListener('click', keys.t);

function setTheme(theme) {
  root.dataset.theme = theme;
  root.style.colorScheme = theme;
  palette.clear();
  if (view.stage) drawStrip();
}

// Printed is the overview, and the whole stage that is looked at.
const printout = document.getElementById('printout');
window.addEventListener('beforeprint', () => {
  const theme = root.dataset.theme, {stage} = view, run = groups.filter(group => group.alive);
  printout.theme = theme;
  setTheme('light');
  printout.replaceChildren(
      ...(given.profile ?
              [h('.columns', {}, h('div', {}, h('h2', {}, 'Time by operator'), costTable(given.profile.operators, 12)),
                 h('div', {}, h('h2', {}, 'Time by line of the code'), costTable(given.profile.sources, 12)))] :
              []),
      ...(run.length ?
              [h('.columns', {},
                 run.map(group => h('div', {}, h('h2', {}, `Memory of the ${group.name}`), memoryPicture(group))))] :
              []),
      h('h2', {}, `${stage.group.name}: ${stage.title}`), ...rowsOf(stage, true).map(row => rowElement(row, stage)));
});
window.addEventListener('afterprint', () => {
  printout.replaceChildren();
  setTheme(printout.theme);
});

// At first: what the address says, or the forward as it ran.
setTheme(
    new URLSearchParams(location.search).get('theme') ||
    (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
document.title = given.title + ': Fulgurite explorer';
document.getElementById('title').textContent = given.title;
drawRail();
function showAddress() {
  const parts = decodeURIComponent(location.hash.slice(1)).split('.'),
        stage = stages.find(s => s.key === parts.slice(0, 2).join('.'));
  const asRun =
      (groups.find(group => group.cost) || groups.find(group => group.name.startsWith('forward')) || groups[0]).last;
  if (stage) countChanges(stage);
  const place = Number(parts[2]);
  show(stage || asRun, stage && parts[2] !== undefined && place < stage.ids.length ? place : -1);
}
showAddress();
window.addEventListener('hashchange', showAddress);
pane.focus({preventScroll: true});
root.dataset.ready = performance.now().toFixed(0);
