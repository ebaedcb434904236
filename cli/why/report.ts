import { messageToJson } from '../../api/codec/json.ts';
import type { Explanation, NodeJudgement, Placement } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { defaultSchedulerName } from '../../api/meta/well-known.ts';
import { plainTable } from '../printers/plain-table.ts';

export interface ReportOptions {
  readonly nowMs: number;
  /** Every node, however many there are. */
  readonly all?: boolean | undefined;
}

/** So many nodes are shown of those that fit, and of those that do not. */
const mostShown = 20;

/** Why a pod is where it is, or nowhere, as text. */
export function whyReport(explained: Explanation, options: ReportOptions): string {
  const { nodes = [], nodeCount = 0, fitting = 0 } = explained;
  const fit = nodes.filter(({ obstacles = [] }) => obstacles.length === 0);
  const rejected = nodes.filter(({ obstacles = [] }) => obstacles.length > 0);
  const parts = [headline(explained, options.nowMs)];
  if (fit.length > 0) parts.push(scoreTable(fit, fitting, explained, options));
  if (rejected.length > 0) parts.push(obstacleTable(rejected, nodeCount - fitting, options));
  parts.push(...advice(explained));
  return parts.join('\n');
}

function headline(
  { namespace, name, schedulerName, nodeName, bestNodes = [], nodeCount = 0, fitting = 0, message, placement }: Explanation,
  nowMs: number,
): string {
  const whose = schedulerName && schedulerName !== defaultSchedulerName ? ` (scheduler ${schedulerName})` : '';
  const pod = `pod ${namespace}/${name}${whose}`;
  if (!nodeName) return `${pod} has no node: ${message || `${fitting} of ${nodeCount} nodes fit, it is about to be placed`}\n`;
  const how = placement
    ? `, put there ${wordAge(placement, nowMs)} ago when ${placement.fitting} of ${placement.nodeCount} nodes fitted`
    : '';
  const there = `${pod} is on ${nodeName}${how}.`;
  if (fitting === 0) return `${there} Now it would fit nowhere: ${message}\n`;
  const now = bestNodes.includes(nodeName)
    ? ', and it would go there'
    : bestNodes[0]
      ? `, and it would go to ${bestNodes[0]}`
      : '';
  return `${there} As things are now, without it, ${fitting} of ${nodeCount} nodes fit${now}.\n`;
}

function wordAge({ time }: Placement, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - (time ? toMillis(time) : nowMs)) / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** A column for each plugin; its weight stands beside its name. */
function scoreTable(fit: readonly NodeJudgement[], count: number, { nodeName }: Explanation, options: ReportOptions): string {
  const plugins = (fit[0]?.scores ?? []).map(({ plugin = '', weight = 0 }) => `${plugin} x${weight}`);
  const shown = options.all ? fit : fit.slice(0, mostShown);
  const rows = shown.map(({ nodeName: name = '', total = 0, scores = [] }) => [
    name === nodeName ? `${name} *` : name,
    total.toFixed(1),
    ...scores.map(({ score = 0 }) => score.toFixed(1)),
  ]);
  return plainTable(['FITS', 'TOTAL', ...plugins], rows) + more(count - shown.length);
}

/** The first obstacle is what counts; the others stand below it. */
function obstacleTable(rejected: readonly NodeJudgement[], count: number, options: ReportOptions): string {
  const shown = options.all ? rejected : rejected.slice(0, mostShown);
  const rows = shown.flatMap(({ nodeName = '', obstacles = [] }) =>
    obstacles.map(({ plugin = '', detail = '' }, index) => [index === 0 ? nodeName : '', plugin, detail]),
  );
  return plainTable(['DOES NOT FIT', 'REJECTED BY', 'WHY'], rows) + more(count - shown.length);
}

function more(count: number): string {
  return count > 0 ? `... and ${count} more (--all shows them)\n` : '';
}

function advice(explained: Explanation): string[] {
  const { remedies = [], triedAgainWhen = [] } = explained;
  const lines = adviceLines(explained).map((line) => `${line}\n`);
  const count = remedies.length > 0 ? 1 + remedies.length : 0;
  const parts = count > 0 ? [lines.slice(0, count).join('')] : [];
  return triedAgainWhen.length > 0 ? [...parts, lines.at(-1)!] : parts;
}

/** What would have to be otherwise for a pod to fit, and when it is tried again. */
export function adviceLines({ remedies = [], triedAgainWhen = [] }: Explanation): string[] {
  return [
    ...(remedies.length > 0 ? ['It would fit if this were otherwise, one of:', ...remedies.map((remedy) => `  ${remedy}`)] : []),
    ...(triedAgainWhen.length > 0 ? [`It is tried again when ${triedAgainWhen.join(', or ')}.`] : []),
  ];
}

/** The last placements, the newest first. */
export function placementTable(placements: readonly Placement[], nowMs: number): string {
  const isUsual = placements.every(({ schedulerName }) => !schedulerName || schedulerName === defaultSchedulerName);
  const rows = placements.map((placement) => [
    wordAge(placement, nowMs),
    placement.namespace ?? '',
    placement.name ?? '',
    placement.nodeName ?? '',
    `${placement.fitting}/${placement.nodeCount}`,
    ...(isUsual ? [] : [placement.schedulerName ?? '']),
  ]);
  return plainTable(['AGE', 'NAMESPACE', 'POD', 'NODE', 'NODES THAT FITTED', ...(isUsual ? [] : ['SCHEDULER'])], rows);
}

/** Where pods would go. */
export function simulationTable(pods: readonly Explanation[]): string {
  const rows = pods.map(({ namespace = '', name = '', nodeName, fitting = 0, nodeCount = 0, message = '' }) => [
    namespace,
    name,
    nodeName || (fitting > 0 ? '<not shown>' : '<none>'),
    nodeName || fitting > 0 ? [`${fitting} of ${nodeCount} nodes fit`, ...(message ? [message] : [])].join('; ') : message,
  ]);
  return plainTable(['NAMESPACE', 'POD', 'NODE', 'WHY'], rows) + pods.map(simulationAdvice).join('');
}

function simulationAdvice({ namespace, name, nodeName, remedies = [] }: Explanation): string {
  if (nodeName || remedies.length === 0) return '';
  const lines = remedies.map((remedy) => `  ${remedy}\n`).join('');
  return `\npod ${namespace}/${name} would fit if this were otherwise, one of:\n${lines}`;
}

/** A message of the placements service as JSON. */
export function jsonText(message: 'Explanation' | 'PlacementList' | 'SimulateResponse', value: object): string {
  return `${JSON.stringify(messageToJson(`berth.scheduling.v1.${message}`, value), undefined, 2)}\n`;
}
