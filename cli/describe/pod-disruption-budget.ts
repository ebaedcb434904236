import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeConditions, writeDeletion, writeLabels, writeName } from './sections.ts';

/** How many pods must stay, and how many may go now. */
export const describePodDisruptionBudget: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    writeDeletion(object, lines, now);
    for (const [label, name] of [
      ['Min available', 'minAvailable'],
      ['Max unavailable', 'maxUnavailable'],
      ['Unhealthy pods', 'unhealthyPodEvictionPolicy'],
    ] as const)
      if (text(object, 'spec', name)) lines.field(label, text(object, 'spec', name));
    lines.field('Selector', selectorText(tree(object, 'spec', 'selector')));
    lines.section('Status', (inner) => writeStatus(object, inner));
    if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
  };

function writeStatus(object: Tree, lines: Lines): void {
  for (const [label, name] of [
    ['Allowed disruptions', 'disruptionsAllowed'],
    ['Current', 'currentHealthy'],
    ['Desired', 'desiredHealthy'],
    ['Total', 'expectedPods'],
  ] as const)
    lines.field(label, text(object, 'status', name) || '0');
}

/** As it would be given to --selector. */
function selectorText(selector: Tree): string {
  const labels = Object.entries(tree(selector, 'matchLabels')).map(([key, value]) => `${key}=${value}`);
  const rules = list(selector, 'matchExpressions').map((rule) => {
    const [key, operator, values] = [text(rule, 'key'), text(rule, 'operator'), strings(rule, 'values').join(',')];
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values})`;
  });
  return [...labels, ...rules].join(',');
}
