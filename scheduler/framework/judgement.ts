import type { Pod } from '../../api/generated/types.ts';
import type { Profile } from '../profile.ts';
import { type Audience, everyone, wordFirstPod } from './audience.ts';
import { rejectionBeside } from './beside-nominated.ts';
import { diagnoseNodes, diagnoseNoNodes, type Verdict, wordRejection } from './diagnosis.ts';
import { type Participant, scoreOne } from './judge.ts';
import type { Attempt, ClusterEventKind, Rejection } from './plugin.ts';
import { guard } from './plugin-fault.ts';
import { prepareAll } from './runner.ts';

/** What a plugin has against a node, in its own words and in figures. */
export interface NodeObstacle {
  readonly plugin: string;
  readonly rejection: Rejection;
  readonly detail: string;
}

export interface NodeScore {
  readonly plugin: string;
  readonly score: number;
  readonly weight: number;
}

/** What all plugins say of one node, and not only the first that rejects it. */
export interface NodeOpinion {
  readonly nodeName: string;
  readonly obstacles: readonly NodeObstacle[];
  readonly scores: readonly NodeScore[];
  /** The weighted sum; 0 for a node with obstacles. */
  readonly total: number;
}

/** All that can be said of an attempt, for people: slow, and without consequences. */
export interface Judgement {
  /** In the order of the table. */
  readonly opinions: readonly NodeOpinion[];
  /** The nodes of which the attempt would take one. */
  readonly best: readonly string[];
  readonly fitting: number;
  /** As in the pod's condition; empty when a node fits. */
  readonly message: string;
  /** What keeps the pod off all nodes, whatever they are. */
  readonly ofPod?: string;
  /** The only nodes that the pod's affinity names, as that of a DaemonSet's pod does; undefined: it names none. */
  readonly namedNodes?: ReadonlySet<string> | undefined;
}

/** Asks every plugin about every node. Throws PluginFault. */
export function judgeAll(profile: Profile, attempt: Attempt, audience: Audience = everyone): Judgement {
  const { nodes } = attempt;
  const prepared = prepareAll(profile, attempt);
  if (!Array.isArray(prepared)) {
    const obstacles = prepared.verdicts.map(({ plugin, rejection }) => ({ plugin, rejection, detail: wordRejection(rejection) }));
    const opinions = nodes.names.map((nodeName) => ({ nodeName, obstacles, scores: [], total: 0 }));
    return { opinions, best: [], fitting: 0, message: prepared.message, ofPod: obstacles[0]!.detail };
  }
  const obstacles = nodes.names.map((_, row) => obstaclesOf(prepared, { attempt, row, audience }));
  const rows = Int32Array.from(obstacles.flatMap((found, row) => (found.length === 0 ? [row] : [])));
  const scores = scoresOf(prepared, attempt, rows);
  const opinions = nodes.names.map((nodeName, row) => {
    const own = scores.get(row) ?? [];
    const total = own.reduce((sum, { score, weight }) => sum + score * weight, 0);
    return { nodeName, obstacles: obstacles[row]!, scores: own, total };
  });
  const fitting = opinions.filter((opinion) => opinion.obstacles.length === 0);
  const most = fitting.reduce((highest, { total }) => Math.max(highest, total), 0);
  const best = fitting.filter(({ total }) => total === most).map(({ nodeName }) => nodeName);
  const message = fitting.length === 0 ? wordRejections(opinions) : '';
  return { opinions, best, fitting: fitting.length, message, namedNodes: namedNodesOf(attempt.pod.pod) };
}

function namedNodesOf({ spec }: Pod): ReadonlySet<string> | undefined {
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names = terms.map(
    ({ matchFields = [] }) => matchFields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values,
  );
  if (names.length === 0 || names.includes(undefined)) return undefined;
  return new Set(names.flatMap((each) => each ?? []));
}

/** What is said of the nodes that may come to have the pod: of another name no change makes it fit. */
function withinReach({ opinions, namedNodes }: Judgement): readonly NodeOpinion[] {
  const named = namedNodes ? opinions.filter(({ nodeName }) => namedNodes.has(nodeName)) : [];
  return named.length > 0 ? named : opinions;
}

function wordRejections(opinions: readonly NodeOpinion[]): string {
  if (opinions.length === 0) return diagnoseNoNodes().message;
  const first = opinions.map(({ obstacles }) => obstacles[0]);
  const [rejections, plugins] = [first.map((each) => each?.rejection), first.map((each) => each?.plugin)];
  return diagnoseNodes(rejections, plugins).message;
}

interface Asked {
  readonly attempt: Attempt;
  readonly row: number;
  readonly audience: Audience;
}

function obstaclesOf(participants: readonly Participant[], asked: Asked): NodeObstacle[] {
  const { row, audience } = asked;
  const { nodes } = asked.attempt;
  return participants.flatMap((participant) => {
    const { plugin, state, filters } = participant;
    if (!filters) return [];
    const rejection = guard(plugin, 'filter', () => plugin.filter!(state, nodes, row));
    if (rejection === undefined) return obstacleBeside(participant, asked);
    const explain = () => (audience.seesNodes ? plugin.explain?.(state, nodes, row, audience) : undefined);
    const detail = guard(plugin, 'explain', explain) ?? wordRejection(rejection);
    return [{ plugin: plugin.name, rejection, detail }];
  });
}

/** What only stands in the way because of pods for which room is being made on the node. */
function obstacleBeside(participant: Participant, { attempt: { nodes }, row, audience }: Asked): NodeObstacle[] {
  const { plugin } = participant;
  const rejection = guard(plugin, 'filter', () => rejectionBeside(participant, nodes, row));
  if (rejection === undefined) return [];
  const keys = (nodes.nominated.get(nodes.names[row]!) ?? []).map(({ key }) => key);
  return [
    {
      plugin: plugin.name,
      rejection,
      detail: `${wordRejection(rejection)}, once ${wordFirstPod(keys.sort(), audience)} is there, for which room is being made`,
    },
  ];
}

function scoresOf(participants: readonly Participant[], { nodes }: Attempt, rows: Int32Array): Map<number, NodeScore[]> {
  const found = new Map<number, NodeScore[]>([...rows].map((row) => [row, []]));
  const scores = new Float64Array(rows.length);
  for (const participant of participants) {
    if (!participant.scores || rows.length === 0) continue;
    scoreOne(participant, nodes, rows, scores);
    const { plugin, weight } = participant;
    rows.forEach((row, i) => void found.get(row)!.push({ plugin: plugin.name, score: scores[i]!, weight }));
  }
  return found;
}

/** The most remedies that are listed. */
const mostRemedies = 3;
/** The most nodes with the same obstacles that are named. */
const mostNames = 3;

/** What would have to change for the pod to fit, with the nodes first where the least stands in the way. */
export function remedies(judgement: Judgement, { seesNodes }: Audience = everyone): string[] {
  const { ofPod } = judgement;
  if (ofPod !== undefined) return [ofPod];
  const byObstacles = new Map<string, { names: string[]; count: number }>();
  for (const { nodeName, obstacles } of withinReach(judgement)) {
    if (obstacles.length === 0) continue;
    const text = obstacles.map(({ plugin, detail }) => `${detail} (${plugin})`).join(', and ');
    const known = byObstacles.get(text) ?? { names: [], count: obstacles.length };
    known.names.push(nodeName);
    byObstacles.set(text, known);
  }
  return [...byObstacles]
    .sort(([, a], [, b]) => a.count - b.count || b.names.length - a.names.length)
    .slice(0, mostRemedies)
    .map(([text, { names }]) => `on ${seesNodes ? wordNames(names) : wordNodeCount(names.length)}: ${text}`);
}

const wordNodeCount = (count: number): string => (count === 1 ? '1 node' : `${count} nodes`);

function wordNames(unsorted: readonly string[]): string {
  const names = [...unsorted].sort();
  const more = names.length - mostNames;
  return more > 0 ? `${names.slice(0, mostNames).join(', ')} and ${more} more` : names.join(', ');
}

const eventWords: Readonly<Record<ClusterEventKind, string>> = {
  'node/added': 'a node comes',
  'node/removed': 'a node goes',
  'node/resources': "a node's resources change",
  'node/labels': "a node's labels change",
  'node/taints': "a node's taints change, or its unschedulable mark goes",
  'node/ready': 'a node becomes ready',
  'node/usage': 'a node reports other use',
  'pod/removed': 'a pod leaves a node',
  'pod/shrunk': 'a pod on a node asks for less',
  'pod/bound': 'a pod comes to a node',
  'pod/changed': "a pod's labels change",
  'storage/changed': 'its claims or their volumes change',
  'storage/class': 'a volume of the class of its claims is free, or the class changes',
  'namespace/changed': "a namespace's labels change",
};

export const clusterEventKinds = Object.keys(eventWords) as readonly ClusterEventKind[];

/** What the queue waits for, each once: by the obstacles, and by what trials of preemption met besides. */
export function wakers({ opinions }: Judgement, verdicts: readonly Verdict[] = []): string[] {
  const found = [...opinions.flatMap(({ obstacles }) => obstacles), ...verdicts];
  const kinds = new Set(found.flatMap(({ rejection }) => rejection.wakeOn));
  return [...kinds].map((kind) => eventWords[kind]);
}
