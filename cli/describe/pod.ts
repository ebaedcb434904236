import { selectorLines, tolerationText, writeContainer, writeVolume } from './container.ts';
import type { Describer } from './describer.ts';
import { list, type Tree, text } from './json.ts';
import { type Lines, timeText } from './lines.ts';
import { computeFailedRuns } from './log-tails.ts';
import { writeConditions, writeController, writeDeletion, writeLabels, writeName } from './sections.ts';

type LogLines = ReadonlyMap<string, readonly string[]>;

/** Where the pod runs or why it does not, what its containers do and why, and what those that failed wrote last. */
export const describePod: Describer = async (pod, { logTails, now }) => {
  const key = {
    namespace: text(pod, 'metadata', 'namespace'),
    name: text(pod, 'metadata', 'name'),
    node: text(pod, 'spec', 'nodeName'),
  };
  const runs = computeFailedRuns(pod);
  const tails = await Promise.all(runs.map((run) => logTails.read(key, run)));
  const logs: LogLines = new Map(runs.map(({ container }, at) => [container, tails[at] ?? []]));
  return (lines) => writePod(pod, logs, lines, now);
};

/** Pure. `logs` are the last lines of containers that failed, by name. */
export function writePod(pod: Tree, logs: LogLines, lines: Lines, now: Date): void {
  writeName(pod, lines);
  lines.field('Priority', text(pod, 'spec', 'priority') || '0');
  if (text(pod, 'spec', 'priorityClassName')) lines.field('Priority Class Name', text(pod, 'spec', 'priorityClassName'));
  lines.field('Node', [text(pod, 'spec', 'nodeName'), text(pod, 'status', 'hostIP')].filter(Boolean).join('/'));
  if (text(pod, 'status', 'nominatedNodeName')) lines.field('NominatedNodeName', text(pod, 'status', 'nominatedNodeName'));
  const gates = list(pod, 'spec', 'schedulingGates').map((gate) => text(gate, 'name'));
  if (gates.length > 0) lines.field('Scheduling Gates', gates);
  if (text(pod, 'status', 'startTime')) lines.field('Start Time', timeText(text(pod, 'status', 'startTime')));
  writeLabels(pod, lines);
  writeStatus(pod, lines, now);
  lines.field('IP', text(pod, 'status', 'podIP'));
  writeController(pod, lines);
  writeContainers('Init Containers', pod, ['initContainers', 'initContainerStatuses'], logs, lines);
  writeContainers('Containers', pod, ['containers', 'containerStatuses'], logs, lines);
  writeReadinessGates(pod, lines);
  writeConditions(pod, lines);
  writeVolumes(list(pod, 'spec', 'volumes'), lines);
  lines.field('QoS Class', text(pod, 'status', 'qosClass'));
  lines.field('Node-Selectors', selectorLines(pod));
  lines.field('Tolerations', list(pod, 'spec', 'tolerations').map(tolerationText));
}

/** The phase with its reason; of a pod that has no node yet, what the scheduler said. */
function writeStatus(pod: Tree, lines: Lines, now: Date): void {
  if (text(pod, 'metadata', 'deletionTimestamp')) writeDeletion(pod, lines, now);
  else lines.field('Status', text(pod, 'status', 'phase'));
  const unscheduled = list(pod, 'status', 'conditions').find((each) => each.type === 'PodScheduled' && each.status === 'False');
  for (const name of ['reason', 'message']) {
    const why = text(pod, 'status', name) || text(unscheduled, name);
    if (why) lines.field(name === 'reason' ? 'Reason' : 'Message', why);
  }
}

function writeContainers(
  heading: string,
  pod: Tree,
  [specs, statuses]: readonly [specs: string, statuses: string],
  logs: LogLines,
  lines: Lines,
): void {
  const containers = list(pod, 'spec', specs);
  if (containers.length === 0) return;
  lines.section(heading, (inner) => {
    for (const container of containers) {
      const name = text(container, 'name');
      const status = list(pod, 'status', statuses).find((each) => each.name === name) ?? {};
      inner.section(name, (body) => writeContainer(container, status, logs.get(name) ?? [], body));
    }
  });
}

/** What else must be true before the pod is ready, and whether it is. */
function writeReadinessGates(pod: Tree, lines: Lines): void {
  const gates = list(pod, 'spec', 'readinessGates').map((gate) => text(gate, 'conditionType'));
  if (gates.length === 0) return;
  const conditions = list(pod, 'status', 'conditions');
  const statusOf = (type: string) =>
    text(
      conditions.find((each) => each.type === type),
      'status',
    ) || '<none>';
  lines.table(
    'Readiness Gates',
    ['Type', 'Status'],
    gates.map((type) => [type, statusOf(type)]),
  );
}

export function writeVolumes(volumes: readonly Tree[], lines: Lines): void {
  if (volumes.length === 0) lines.field('Volumes', undefined);
  else
    lines.section('Volumes', (inner) => {
      for (const volume of volumes) inner.section(text(volume, 'name'), (body) => writeVolume(volume, body));
    });
}
