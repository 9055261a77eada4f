// On the right: everything about the selected line, or about the whole function.

const inspector = document.getElementById('inspector');

const figure = (value, name) => h('.figure', {}, h('b', {}, value), h('span', {}, name));
const bar = (part, shade) =>
    h('.bar', {style: `--shade:${shade}`}, h('i', {style: `width:${Math.max(0.5, Math.min(100, 100 * part))}%`}));

/// A line to jump to.
function jump(stage, place, why = '') {
  const line = stage.line(place), said = code(stage.text(place), stage, line.names);
  const element =
      h('.jump', {title: line.text}, h('span.at', {}, place), h('span.what', {}, said), why && h('span.why', {}, why));
  element.addEventListener('click', () => show(stage, place));
  return element;
}

/// Some jumps; those beyond the first few behind a word.
function jumps(items, most = 8) {
  const shown = items.slice(0, most), rest = items.slice(most), out = h('div', {}, shown);
  if (rest.length) {
    const more = h('.jump', {}, h('span.at'), h('span.note', {}, `${rest.length} more`));
    more.addEventListener('click', () => more.replaceWith(...rest));
    out.append(more);
  }
  return out;
}

function excerpt(source, around = 4) {
  const [file, line] = given.sources[source], [name, text] = given.files[file];
  if (line > text.length) return h('p.note', {}, `${name}:${line}. Its text was not there when the page was written.`);
  const first = Math.max(1, line - around), last = Math.min(text.length, line + around),
        out = h('.excerpt', {}, h('h3', {}, `${name}:${line}`));
  for (let i = first; i <= last; ++i)
    out.append(h(i === line ? 'div.here' : 'div', {}, h('span', {}, i), h('span', {}, text[i - 1])));
  return out;
}

function kernelText(text) {
  const out = h('.kernel');
  text.replace(/\n$/, '').split('\n').forEach((line, i) => {
    const comment = line.indexOf('//'), said = h('span', {});
    if (comment >= 0) said.append(code(line.slice(0, comment), null), h('span.comment', {}, line.slice(comment)));
    else said.append(code(line, null));
    out.append(h('div', {}, h('span', {}, i + 1), said));
  });
  return out;
}

/// Two texts with the words in which they differ marked.
function beforeAfter(before, after) {
  const a = before.match(subgraphs) || [], b = after.match(subgraphs) || [];
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) ++start;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  const marked = (all, kind, sign) => {
    const from = start, to = all.length - end;
    return h(
        `p.statement.${kind}`, {}, sign + ' ', all.slice(0, from).join(''), h('b', {}, all.slice(from, to).join('')),
        all.slice(to).join(''));
  };
  return [marked(a, 'before', '−'), marked(b, 'after', '+')];
}

function costSection(stage, place) {
  const cost = stage.cost(place), line = stage.line(place), alive = stage.alive(place), out = [];
  if (cost) {
    const [us, read, written, operations, share] = cost, runs = stage.group.runs || 1, seconds = us / runs / 1e6;
    out.push(h('h2', {}, 'Cost ', h('small', {}, runs > 1 ? `of ${runs} runs` : '')));
    const figures = [figure(timeText(us), percent(us / given.profile.lines) + ' of all lines')];
    figures.push(figure(bytesText(read + written), 'read and written'));
    if (operations) figures.push(figure(operationsText(operations), rateText(operations / seconds, 'FLOP/s')));
    if (read + written) figures.push(figure(rateText((read + written) / seconds, 'B/s'), 'moved'));
    out.push(h('.figures', {}, figures));
    if (share) {
      out.push(h('p.note', {}, `${percent(share)} of what the machine can do for these bytes and operations`));
      out.push(bar(share, shadeOf(line.executor)));
    }
  }
  const isPeak = stage.group.peak === place - stage.group.arguments;
  if (alive !== undefined)
    out.push(h('p.note', {style: 'margin-top:8px'}, `${bytesText(alive)} alive after it${isPeak ? ', the peak' : ''}`));
  return out;
}

function kernelSection(line) {
  const name = (line.text.match(/= (\w+)\(/) || [])[1], kernel = name && given.kernels[name];
  if (!kernel) return [];
  const cell = text => h('td', {}, h('code', {}, text));
  const rows = (tensors, what) => tensors.map(
      ([tensor, type, strides, offset, shares]) =>
          h('tr', {}, cell(tensor), cell(type.replace(/^cpu /, '')),
            cell(`[${strides.join(', ')}]${offset ? ' + ' + offset : ''}`),
            h('td', {}, shares ? 'shares with ' + shares : what)));
  return [
    h('h2', {}, 'Kernel ', h('small', {}, 'tensors as they lay in the last call: type, strides')),
    h('table.tight', {}, rows(kernel.inputs, ''), rows(kernel.outputs, 'made')),
    kernel.source ? h('div', {style: 'margin-top:10px'}, kernelText(kernel.source)) : ''
  ];
}

function inspectLine(stage, place) {
  const line = stage.line(place), out = [], {status, before} = stage.changes;
  out.push(h('p.statement', {}, code(line.text, stage, line.names)));
  if (line.types)
    out.push(h('table.tight', {style: 'margin-top:8px'}, line.types.split('\n').map(type => {
      const colon = type.indexOf(': ');
      return h(
          'tr', {}, h('td', {}, h('code', {}, type.slice(0, colon))),
          h('td', {}, h('code', {}, type.slice(colon + 2))));
    })));
  if (line.kind === Kind.call && (line.executor || stage.isLast))
    out.push(
        h('p.legend', {},
          h('span', {}, h('i', {style: `--shade:${shadeOf(line.executor)}`}),
            line.executor ? `run by ${line.executor}` : 'another name for memory')));
  if (status[place]) {
    const was = before.has(place) && lines[before.get(place)];
    out.push(h('h2', {}, 'What this pass did'));
    if (status[place] === 'added') out.push(h('p.note', {}, h('span.plus', {}, 'Added'), ' by ', stage.title, '.'));
    else if (status[place] === 'claimed')
      out.push(h('p.note', {}, line.executor ? `Claimed by ${line.executor}.` : `Given back by ${was.executor}.`));
    else out.push(...(was.text !== line.text ? beforeAfter(was.text, line.text) : beforeAfter(was.types, line.types)));
  }
  out.push(...costSection(stage, place));
  const sources =
      [...new Set([line.source, ...line.inside.map(([, id]) => lines[id].source)])].filter(source => source >= 0);
  if (sources.length)
    out.push(
        h('h2', {}, line.backward ? 'Differentiated from your code' : 'Your code'),
        sources.slice(0, 3).map(source => excerpt(source, sources.length > 1 ? 1 : 3)));
  if (line.inside.length)
    out.push(
        h('h2', {}, 'Consists of'),
        h('.kernel', {},
          line.inside.map(
              ([depth, id], i) =>
                  h('div', {}, h('span', {}, i + 1),
                    code('  '.repeat(depth - 1) + lines[id].text, stage, lines[id].names)))));
  out.push(...kernelSection(line));
  const made =
      stage.argumentsOf(place).map(name => [name, stage.definitions.get(name)]).filter(([, at]) => at !== place);
  if (made.length && line.kind !== Kind.deletion)
    out.push(h('h2', {}, 'Takes'), jumps(made.map(([name, at]) => jump(stage, at, name))));
  const users = [...new Set(line.names.flatMap(name => stage.uses.get(name) || []))].filter(at => at !== place);
  if (users.length) out.push(h('h2', {}, 'Used by'), jumps(users.map(at => jump(stage, at))));
  const others = partners(stage, place);
  if (others.length) {
    out.push(h('h2', {}, stage.group.isBackward ? 'Serves in the forward' : 'Served in the backward by'));
    out.push(jumps(others.map(([other, at, why]) => jump(other, at, why))));
  }
  return out;
}

/// A table of what took how long.
function costTable(rows, most) {
  const whole = given.profile.lines, longest = rows.length ? rows[0][2] : 1;
  return h('table', {}, rows.slice(0, most).map(([name, count, us]) => {
    const short = name.replace(/^torch\.(nn\.functional\.)?/, '');
    return h(
        'tr', {},
        h('td', {style: 'width:100%', title: name}, h('code.clamped', {}, short), bar(us / longest, 'var(--fuser)')),
        h('td.quantity', {}, count > 1 ? '×' + count : ''), h('td.quantity', {}, timeText(us)),
        h('td.quantity', {}, percent(us / whole)));
  }));
}

function peakTable(group, most) {
  const at = group.lives.filter(([, , , first, last]) => first <= group.peak && last >= group.peak)
                 .sort((a, b) => b[2] - a[2]);
  const biggest = at.length ? at[0][2] : 1, rest = at.slice(most).reduce((sum, life) => sum + life[2], 0);
  return h(
      'table', {}, at.slice(0, most).map(([name, type, bytes, first]) => {
        const said = h('code', {}, `${name}  ${type.replace(/^cpu /, '')}`);
        const row =
            h('tr', {style: 'cursor:pointer'},
              h('td', {style: 'width:100%'}, said, bar(bytes / biggest, 'var(--memory)')),
              h('td.quantity', {}, first < 0 ? 'input' : ''), h('td.quantity', {}, bytesText(bytes)));
        row.addEventListener('click', () => show(group.last, group.last.definitions.get(name)));
        return row;
      }),
      rest > 0 &&
          h('tr', {}, h('td.note', {}, `${at.length - most} more`), h('td'), h('td.quantity', {}, bytesText(rest))));
}

function overview(most = 12) {
  const out = [], profile = given.profile, run = groups.filter(group => group.alive);
  out.push(
      h('p.lead', {},
        'Pick a stage on the left to see what its pass changed, a line to see where it comes from and what it costs.'));
  const kernels = Object.keys(given.kernels).length;
  const figures = [figure(stages.length, 'stages'), figure(kernels, kernels === 1 ? 'fused kernel' : 'fused kernels')];
  if (profile)
    figures.unshift(figure(timeText(profile.step), `a step, ${percent(profile.lines / profile.step)} of it in lines`));
  run.forEach(
      group => figures.push(
          figure(bytesText(Math.max(group.inputs, largest(group.alive))), `${group.name}: alive at the peak`)));
  out.push(h('.figures', {}, figures));
  if (profile) {
    const [, bandwidth] = profile.bandwidths[profile.bandwidths.length - 1];
    out.push(h('h2', {}, 'Time by operator'), costTable(profile.operators, most));
    out.push(h('h2', {}, 'Time by line of your code'), costTable(profile.sources, most));
    out.push(
        h('p.note', {style: 'margin-top:8px'},
          `The step whose time is the median of ${profile.steps}; ${timeText(profile.plain)} without the profile. ` +
              `${plural(profile.threads, 'thread')}; at best ${rateText(profile.f32, 'FLOP/s')} in f32, ${
                  rateText(bandwidth, 'B/s')} from memory.`));
  }
  run.forEach(group => {
    out.push(
        h('h2', {}, `Memory of the ${group.name} `, h('small', {}, 'bytes of tensors alive, op by op')),
        memoryPicture(group));
    out.push(h('h2', {}, 'Alive at the peak'), peakTable(group, 8));
  });
  return out;
}
