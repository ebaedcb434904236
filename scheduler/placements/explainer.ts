import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '../../api/errors/index.ts';
import type {
  Explanation,
  ListPlacementsRequest,
  NodeJudgement,
  Placement,
  PlacementList,
  Pod,
  SimulateRequest,
  SimulateResponse,
  WhyRequest,
} from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import type { Cache } from '../cache/cache.ts';
import { createNodeTable, type NodeTable } from '../cache/node-table.ts';
import { type Audience, wordPods } from '../framework/audience.ts';
import { wordRejection } from '../framework/diagnosis.ts';
import { type Judgement, judgeAll, type NodeOpinion, remedies, wakers } from '../framework/judgement.ts';
import type { Attempt, MakeRoom } from '../framework/plugin.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import { createRunner, type Decision, type Runner } from '../framework/runner.ts';
import { isPreemptible } from '../preemption/candidates.ts';
import type { Profile } from '../profile.ts';
import { type PlacementLog, type PlacementRecord, rememberedPlacements } from './placement-log.ts';

export interface ExplainerOptions {
  /** The profile of the pods that it explains. */
  readonly profile: Profile;
  readonly cache: Pick<Cache, 'fork' | 'nominatedNode'>;
  readonly placements: Pick<PlacementLog, 'of' | 'last'>;
  /** What the API shows, by namespace/name. */
  readonly find: (key: string) => Pod | undefined;
  /** When a pod entered the queue; undefined when it is not there. */
  readonly waitingSince: (uid: string) => number | undefined;
  readonly now: () => number;
}

/**
 * Answers people's questions on copies of what the scheduler knows: nothing that it does changes by them. Throws
 * ApiError and PluginFault.
 */
export interface Explainer {
  why(request: WhyRequest, audience: Audience): Explanation;
  simulate(
    request: SimulateRequest,
    how: { readonly audience: Audience; readonly signal: AbortSignal },
  ): Promise<SimulateResponse>;
  list(request: ListPlacementsRequest): PlacementList;
}

/** Some 300 bytes for each node, in a message of at most 4 MiB. */
const defaultNodes = 1_000;
const mostNodes = 10_000;
/** Between the pods of a simulation others have their turn after so long. */
const turnMs = 5;

export function createExplainer(options: ExplainerOptions): Explainer {
  return new LiveExplainer(options);
}

class LiveExplainer implements Explainer {
  readonly #options: ExplainerOptions;

  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  why({ namespace = '', name = '', nodeLimit: wanted = 0 }: WhyRequest, audience: Audience): Explanation {
    const pod = this.#options.find(`${namespace}/${name}`);
    // The server has found it.
    if (!pod) throw unavailable(`the scheduler has not heard of pod "${name}" yet: try again`);
    // A placed pod names its node; the answer is about where it would go without that.
    const info = podInfo({ ...pod, spec: { ...pod.spec, nodeName: '' } });
    const fork = this.#options.cache.fork();
    fork.forget(info.uid);
    fork.removePod(pod);
    const table = createNodeTable();
    fork.sync(table, info);
    const record = this.#options.placements.of(info.uid);
    const nodeLimit = Math.min(wanted || defaultNodes, mostNodes);
    const explained = this.#explain(this.#attemptOf(info, table), { runner: this.#newRunner(), nodeLimit, audience });
    return {
      ...explained,
      message: [
        [...wordGates(pod), ...(explained.message ? [explained.message] : [])].join('; '),
        ...wordNomination(info, { nodeName: this.#options.cache.nominatedNode(info.uid), nodes: table, audience }),
      ].join(' '),
      nodeName: pod.spec?.nodeName ?? '',
      ...(record && { placement: placementOf(record, this.#options.profile.schedulerName) }),
    };
  }

  async simulate(
    { pods = [], nodeLimit: wanted = 0 }: SimulateRequest,
    { audience, signal }: { readonly audience: Audience; readonly signal: AbortSignal },
  ): Promise<SimulateResponse> {
    const nodeLimit = Math.min(wanted, Math.floor(mostNodes / Math.max(1, pods.length)));
    const simulation = {
      fork: this.#options.cache.fork(),
      table: createNodeTable(),
      runner: this.#newRunner(),
      nodeLimit,
      audience,
    };
    const answers: Explanation[] = [];
    let turnEndsAt = performance.now() + turnMs;
    for (const pod of pods) {
      if (signal.aborted) break;
      answers.push(this.#place(pod, simulation));
      if (performance.now() < turnEndsAt) continue;
      await nextTurn();
      turnEndsAt = performance.now() + turnMs;
    }
    return { pods: answers };
  }

  list({ limit = 0 }: ListPlacementsRequest): PlacementList {
    return {
      items: this.#options.placements
        .last(limit || rememberedPlacements)
        .map((record) => placementOf(record, this.#options.profile.schedulerName)),
    };
  }

  // The first of the best: asked again, it answers the same.
  #newRunner(): Runner {
    return createRunner({ profile: this.#options.profile, random: () => 0 });
  }

  #attemptOf(pod: PodInfo, nodes: NodeTable): Attempt {
    const { uid } = pod;
    return {
      pod,
      nodes,
      now: this.#options.now(),
      waitingSince: this.#options.waitingSince(uid),
      nominatedNodeName: this.#options.cache.nominatedNode(uid),
    };
  }

  #explain(attempt: Attempt, { runner, nodeLimit, audience }: Asked): Explanation {
    const judgement = judgeAll(this.#options.profile, attempt, audience);
    const decision = judgement.fitting === 0 ? runner.decide(attempt) : undefined;
    const failed = decision?.kind === 'unschedulable' ? decision : undefined;
    return {
      ...identityOf(attempt.pod),
      ...wordJudgement(judgement, failed, audience),
      nodes: listNodes(judgement, audience.seesNodes ? nodeLimit : 0),
    };
  }

  #place(pod: Pod, asked: Simulation): Explanation {
    const { fork, table, runner, nodeLimit, audience } = asked;
    const info = podInfo(pod);
    fork.sync(table, info);
    const attempt = this.#attemptOf(info, table);
    const decision = runner.decide(attempt);
    const explained: Explanation =
      decision.kind === 'placed' && nodeLimit === 0
        ? {
            ...identityOf(info),
            nodeCount: table.count,
            fitting: decision.feasible,
            bestNodes: audience.seesNodes ? [decision.nodeName] : [],
          }
        : this.#explain(attempt, asked);
    const message = [...wordGates(pod), ...(explained.message ? [explained.message] : [])].join('; ');
    if (decision.kind !== 'placed') return { ...explained, message };
    fork.assume(info, decision.nodeName);
    return { ...explained, message, nodeName: audience.seesNodes ? decision.nodeName : '' };
  }
}

interface Asked {
  readonly runner: Runner;
  readonly nodeLimit: number;
  readonly audience: Audience;
}

interface Simulation extends Asked {
  readonly fork: Cache;
  readonly table: ReturnType<typeof createNodeTable>;
}

function identityOf({ pod }: PodInfo): Explanation {
  const { namespace = '', name = '' } = pod.metadata ?? {};
  return { namespace, name, schedulerName: pod.spec?.schedulerName ?? '' };
}

/** Why a pod is not even tried. */
function wordGates({ spec }: Pod): string[] {
  const names = (spec?.schedulingGates ?? []).map(({ name }) => name);
  return names.length === 0 ? [] : [`it is not tried before its scheduling gates are removed: ${names.join(', ')}`];
}

function wordJudgement(judgement: Judgement, decision: Unschedulable | undefined, audience: Audience): Explanation {
  const { opinions, best, fitting, message } = judgement;
  const counts = { nodeCount: opinions.length, fitting, bestNodes: audience.seesNodes ? [...best] : [], message };
  if (fitting > 0) return counts;
  const remedy = [...wordRoom(decision?.room, audience), ...remedies(judgement, audience)];
  return { ...counts, remedies: remedy, triedAgainWhen: wakers(judgement, decision?.diagnosis.verdicts) };
}

type Unschedulable = Extract<Decision, { kind: 'unschedulable' }>;

function wordRoom(room: MakeRoom | undefined, audience: Audience): string[] {
  if (!room || room.victims.length === 0) return [];
  const { nominatedNodeName, victims, againstBudget = [] } = room;
  const bound = new Set(againstBudget.map(({ key }) => key));
  const keys = victims.map(({ key }) => key);
  const names = wordPods(keys, audience, (key) => `${key}${bound.has(key) ? ' (against its disruption budget)' : ''}`);
  const where = audience.seesNodes ? nominatedNodeName : '1 node';
  return [`on ${where}: less important pods have to go, which the scheduler sees to: ${names}`];
}

interface Nomination {
  readonly nodeName: string | undefined;
  readonly nodes: NodeTable;
  readonly audience: Audience;
}

/** Of a pod for which room is being made: where, and who has to end before it is tried there. */
function wordNomination({ priority, pod }: PodInfo, { nodeName, nodes, audience }: Nomination): string[] {
  const row = nodeName === undefined ? undefined : nodes.rowOf(nodeName);
  if (row === undefined) return [];
  const ending = [...nodes.pods[row]!.values()].filter(
    (other) => other.priority < priority && other.pod.metadata?.deletionTimestamp !== undefined,
  );
  const keys = ending.map(({ key }) => key).sort();
  const whom = keys.length > 0 ? wordPods(keys, audience) : 'those whose place it takes';
  // The reader sees the pod itself, and what its status says.
  const isSeen = audience.seesNodes || pod.status?.nominatedNodeName === nodeName;
  return [
    `Room is being made for it on ${isSeen ? `node ${nodeName}` : 'a node'}: it is tried there when ${whom} ${keys.length === 1 ? 'has' : 'have'} ended.`,
  ];
}

/** Those that fit, the best first; then those with the fewest obstacles. */
function listNodes({ opinions }: Judgement, limit: number): NodeJudgement[] {
  const sorted = [...opinions].sort(
    (a, b) => a.obstacles.length - b.obstacles.length || b.total - a.total || (a.nodeName < b.nodeName ? -1 : 1),
  );
  return sorted.slice(0, limit).map(nodeJudgement);
}

function nodeJudgement({ nodeName, obstacles, scores, total }: NodeOpinion): NodeJudgement {
  return {
    nodeName,
    obstacles: obstacles.map(({ plugin, rejection, detail }) => {
      const preemptible = isPreemptible(rejection);
      return { plugin, reason: wordRejection(rejection), detail, preemptible };
    }),
    scores: scores.map((score) => ({ ...score })),
    total,
  };
}

function placementOf({ at, ...record }: PlacementRecord, schedulerName: string): Placement {
  return { ...record, schedulerName, time: timestamp(new Date(at)) };
}
