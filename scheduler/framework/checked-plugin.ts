import { describeJson } from '../../api/codec/json-reader.ts';
import { nearestWord } from '../../api/codec/nearest.ts';
import { callLimitMs } from './call-limit.ts';
import { clusterEventKinds } from './judgement.ts';
import type { AnyPlugin, Attempt, MakeRoom, Prepared, Rejection } from './plugin.ts';

type Method = Exclude<keyof AnyPlugin, 'name' | 'callLimitMs'>;

/** Every method of the contract, and the one without which it would never be called. */
const methods = {
  queueOrder: undefined,
  prepare: undefined,
  filter: undefined,
  filterRows: 'filter',
  explain: 'filter',
  withPod: 'filter',
  helps: undefined,
  postFilter: undefined,
  score: undefined,
  normalise: 'score',
  reserve: undefined,
  permit: undefined,
  preBind: undefined,
  bind: undefined,
} as const satisfies Record<Method, Method | undefined>;
const methodNames = Object.keys(methods) as Method[];

/**
 * What is wrong with what a user's factory made, as far as one can see without calling it; undefined when nothing is.
 */
export function pluginError(made: unknown, name: string): string | undefined {
  if (typeof made !== 'object' || made === null) return `create made ${describe(made)}, which is no plugin`;
  const plugin = made as Readonly<Record<string, unknown>>;
  if (plugin.name !== name) return `create made a plugin with the name ${describe(plugin.name)}`;
  const strange = methodNames.find((method) => plugin[method] !== undefined && typeof plugin[method] !== 'function');
  if (strange) return `its ${strange} is ${describe(plugin[strange])}, which is no function`;
  const there = methodNames.filter((method) => plugin[method] !== undefined);
  for (const word of Object.keys(plugin)) {
    const meant = word in methods ? undefined : nearestWord(word, methodNames);
    if (meant && !there.some((method) => method === meant))
      return `it has no method that is called ${word}; did you mean "${meant}"?`;
  }
  const alone = there.find((method) => methods[method] && !there.includes(methods[method]));
  if (alone) return `its ${alone} would never be called: it has no ${methods[alone]}`;
  return there.some((method) => method !== 'prepare') ? undefined : `it does nothing: it has none of ${methodNames.join(', ')}`;
}

/**
 * A user's plugin, whose answers are looked at before anything is done with them, and whose calls end. `pluginError`
 * has found nothing wrong with it. What it answers against the contract is thrown, and becomes its fault like anything
 * that it throws itself.
 */
export function checkedPlugin(plugin: AnyPlugin): AnyPlugin {
  const known = new WeakSet<Rejection>();
  const rejection = (answer: unknown): Rejection => {
    if (typeof answer !== 'object' || answer === null || !known.has(answer as Rejection)) known.add(readRejection(answer));
    return answer as Rejection;
  };
  const filter = (state: unknown, nodes: Attempt['nodes'], row: number) => {
    const answer: unknown = plugin.filter!(state, nodes, row);
    return answer === undefined ? undefined : rejection(answer);
  };
  const checked: Required<Pick<AnyPlugin, Method>> = {
    queueOrder: (a, b) => plugin.queueOrder!(a, b),
    prepare: (attempt) => readPrepared(plugin.prepare!(attempt), rejection),
    filter,
    filterRows(state, nodes, rows) {
      const before = rows.slice();
      const left: unknown = plugin.filterRows!(state, nodes, rows);
      if (!isCount(left, rows.length) || !isWithin(rows.subarray(0, left), before))
        throw new Error(`filterRows answered ${describe(left)}, and the rows in front are not some of those that it was given`);
      return left;
    },
    explain: (state, nodes, row, audience) => readText(plugin.explain!(state, nodes, row, audience)),
    withPod: (state, change) => plugin.withPod!(state, change),
    helps: (pod, event) => plugin.helps!(pod, event),
    postFilter: (attempt, verdicts, trial) => readRoom(plugin.postFilter!(attempt, verdicts, trial), attempt),
    // A copy: the runner goes on with its own.
    score: (state, nodes, rows, scores) => plugin.score!(state, nodes, rows.slice(), scores),
    normalise: (scores) => plugin.normalise!(scores),
    reserve(state, attempt, nodeName) {
      const answer: unknown = plugin.reserve!(state, attempt, nodeName);
      if (typeof answer === 'function') return () => void answer();
      if (!isRejection(answer)) throw new Error(`answered ${describe(answer)}, which is neither its undo nor a rejection`);
      return rejection(answer);
    },
    permit: (placement, signal) => heard(async () => readPermit(await plugin.permit!(placement, signal), rejection)),
    preBind: (placement, signal) => heard(async () => readPermit(await plugin.preBind!(placement, signal), rejection)),
    bind: (placement, signal) => heard(async () => readBound(await plugin.bind!(placement, signal))),
  };
  const own = methodNames.filter((method) => plugin[method] !== undefined);
  return { name: plugin.name, callLimitMs, ...Object.fromEntries(own.map((method) => [method, checked[method]])) };
}

/** Ignores the outcome of a call that timed out; an unhandled rejection would end the process. */
function heard<R>(call: () => Promise<R>): Promise<R> {
  const answer = call();
  answer.catch(() => {});
  return answer;
}

function readPermit(answer: unknown, rejection: (answer: unknown) => Rejection): Rejection | undefined {
  return answer === undefined ? undefined : rejection(answer);
}

function readBound(answer: unknown): 'bound' | 'pass' {
  if (answer === 'bound' || answer === 'pass') return answer;
  throw new Error(`answered ${describe(answer)}, neither "bound" nor "pass"`);
}

const codes: readonly unknown[] = ['unschedulable', 'unresolvable'] satisfies Rejection['code'][];

const isRejection = (answer: unknown): boolean => (answer as Partial<Rejection> | undefined)?.kind === 'reject';

function readRejection(answer: unknown): Rejection {
  const { reason, code, wakeOn } = (answer ?? {}) as Partial<Record<keyof Rejection, unknown>>;
  if (!isRejection(answer)) throw new Error(`answered ${describe(answer)}, which is no rejection; nothing lets it pass`);
  if (typeof reason !== 'string' || reason === '') throw new Error(`rejected with the reason ${describe(reason)}`);
  if (!codes.includes(code)) throw new Error(`rejected with the code ${describe(code)}`);
  if (!Array.isArray(wakeOn)) throw new Error(`rejected with wakeOn ${describe(wakeOn)}, which is no list of events`);
  const strange = wakeOn.find((event) => !clusterEventKinds.includes(event));
  if (strange !== undefined)
    throw new Error(`rejected with wakeOn ${describe(strange)}; there are ${clusterEventKinds.join(', ')}`);
  return answer as Rejection;
}

function readPrepared(answer: unknown, rejection: (answer: unknown) => Rejection): Prepared<unknown> {
  const { kind, filter, score, shape } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'skip') return answer as Prepared<unknown>;
  if (kind === 'reject') return rejection(answer);
  if (kind !== 'proceed') throw new Error(`answered ${describe(answer)}, which is neither proceed, skip nor a rejection`);
  if (typeof filter !== 'boolean' || typeof score !== 'boolean')
    throw new Error('proceeds, but filter and score are not true or false');
  if (shape !== undefined && typeof shape !== 'string')
    throw new Error(`proceeds with the shape ${describe(shape)}, which is no text`);
  return answer as Prepared<unknown>;
}

function readText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  throw new Error(`answered ${describe(answer)}, which is no text`);
}

/** Pods are deleted for what it answers. */
function readRoom(answer: unknown, { nodes }: Attempt): MakeRoom | undefined {
  if (answer === undefined) return undefined;
  const { nominatedNodeName, victims } = (answer ?? {}) as Partial<MakeRoom>;
  const row = typeof nominatedNodeName === 'string' ? nodes.rowOf(nominatedNodeName) : undefined;
  if (row === undefined) throw new Error(`nominated ${describe(nominatedNodeName)}, which is no node`);
  const there = nodes.pods[row]!;
  const found = Array.isArray(victims) ? victims.map((pod) => there.get(pod?.uid)) : [undefined];
  if (!found.every((pod) => pod !== undefined)) throw new Error(`named victims that are no pods of node "${nodes.names[row]}"`);
  return { nominatedNodeName: nodes.names[row]!, victims: found };
}

function isCount(answer: unknown, most: number): answer is number {
  return Number.isInteger(answer) && (answer as number) >= 0 && (answer as number) <= most;
}

/** In the order of `all`, each at most once. */
function isWithin(some: Int32Array, all: Int32Array): boolean {
  let at = 0;
  for (const row of some) {
    while (at < all.length && all[at] !== row) at += 1;
    if (at === all.length) return false;
    at += 1;
  }
  return true;
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'function' ? 'a function' : describeJson(value);
}
