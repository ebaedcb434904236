import { formatLabels } from '../../api/meta/labels.ts';
import { list, tree } from './json.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeConditions, writeDeletion, writeLabels, writeName } from './sections.ts';
import { number, templateIn, workloadDescriber, writePodCounts, writeSelector } from './workload.ts';

/** On how many nodes it should run and runs, and its template. */
export const describeDaemonSet = workloadDescriber('DaemonSet', (object, { pods }, lines, now) => {
  writeName(object, lines);
  writeSelector(tree(object, 'spec', 'selector'), lines);
  const nodes = tree(templateIn(object), 'spec', 'nodeSelector') as Record<string, string>;
  lines.field('Node-Selector', formatLabels(nodes) || undefined);
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  for (const [label, name] of [
    ['Desired Number of Nodes Scheduled', 'desiredNumberScheduled'],
    ['Current Number of Nodes Scheduled', 'currentNumberScheduled'],
    ['Number of Nodes Scheduled with Up-to-date Pods', 'updatedNumberScheduled'],
    ['Number of Nodes Scheduled with Available Pods', 'numberAvailable'],
    ['Number of Nodes Misscheduled', 'numberMisscheduled'],
  ] as const)
    lines.line(`${label}: ${number(object, 'status', name)}`);
  writePodCounts(pods, lines);
  writePodTemplate(templateIn(object), lines);
  if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
});
