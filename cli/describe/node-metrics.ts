import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { cpuText, memoryText } from '../top/usage.ts';
import type { Describer } from './describer.ts';
import { writeTree } from './generic.ts';
import { list, type Tree, text, tree } from './json.ts';
import { age, timeText } from './lines.ts';
import { writeLabels, writeName } from './sections.ts';

/** What the machine and every container on it use, and as of when. */
export const describeNodeMetrics: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    const read = text(object, 'timestamp');
    lines.field('Read', read ? `${timeText(read)} (${age(read, now)} ago)` : '');
    lines.field('Window', text(object, 'window'));
    lines.section('Node', (inner) => {
      const { timestamp: _, ...figures } = tree(object, 'node');
      writeTree(Object.keys(figures).length > 0 ? figures : tree(object, 'usage'), inner);
    });
    lines.table(
      'Containers',
      ['Namespace', 'Pod', 'Container', 'CPU', 'Memory'],
      list(object, 'pods').flatMap((pod) =>
        list(pod, 'containers').map((each) => [text(pod, 'namespace'), text(pod, 'name'), text(each, 'name'), ...amounts(each)]),
      ),
    );
  };

function amounts(container: Tree): string[] {
  const [cpu, memory] = [text(container, 'usage', 'cpu'), text(container, 'usage', 'memory')];
  return [cpuText(cpu ? quantityMilli(cpu) : undefined), memoryText(memory ? quantityValue(memory) : undefined)];
}
