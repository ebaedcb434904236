import type { EmptyNamespaceResponse, ExtensionRemains } from '../../api/generated/types.ts';
import { compareVersions } from '../../api/kinds/custom-resource-definition/meaning.ts';
import { isTextTooDeep } from '../../api/meta/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { Resource } from '../http/subresources.ts';
import type { ExtensionAnswer, ExtensionQuestion } from './extension-server.ts';
import { readResources } from './read-resources.ts';
import type { RemoteGroup } from './remote-groups.ts';

/** Of one request; discovery has as long as the check of availability. */
const withinMs = 10_000;
const discoveryMs = 5_000;
const mostBytes = 4 * 1024 * 1024;
/** How many objects of a resource are looked at, and where a server deletes no collections, deleted in one round. */
const sampled = 100;
const mostMessage = 300;

const JSON_TYPE = 'application/json';
/** Everything but the metadata is of no interest; a server that knows no such form answers with whole objects. */
const METADATA_TYPE = `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${JSON_TYPE}`;

/** For all groups together: the namespace controller waits 120 s, and learns from the answer what is left. */
const totalMs = 90_000;
/** Groups that are emptied at the same time, so that one slow server does not hold up all others. */
const workers = 8;

export interface EmptyingDeps {
  readonly groups: Iterable<RemoteGroup>;
  /** Asks an extension server as this server itself. Throws where there is no whole answer in time. */
  ask(remote: RemoteGroup, question: ExtensionQuestion): Promise<ExtensionAnswer>;
  /** Of the caller. */
  readonly signal: AbortSignal;
}

interface Emptying extends Omit<EmptyingDeps, 'groups'> {
  readonly namespace: string;
}

/**
 * Deletes what is in a namespace of the groups that extension servers serve, and tells what is left. As in Kubernetes,
 * each resource is asked for in one version of its group; a server that does not answer fails its own group alone.
 */
export async function emptyExtensions(namespace: string, { groups, ask, signal }: EmptyingDeps): Promise<EmptyNamespaceResponse> {
  const endsAt = performance.now() + totalMs;
  const emptying: Emptying = {
    ...{ namespace, signal },
    async ask(remote, question) {
      signal.throwIfAborted();
      const left = Math.ceil(endsAt - performance.now());
      if (left <= 0) throw new Error(`not asked: extension servers took ${totalMs / 1_000} s`);
      return ask(remote, { ...question, withinMs: Math.min(question.withinMs, left) });
    },
  };
  const sorted = [...groups].sort((a, b) => compareVersions(a.version, b.version));
  const waiting = [...new Set(sorted.map(({ group }) => group))].entries();
  const found: EmptyNamespaceResponse[] = [];
  const work = async (): Promise<void> => {
    for (const [at, name] of waiting)
      found[at] = await emptyGroup(
        sorted.filter(({ group }) => group === name),
        emptying,
      );
  };
  await Promise.all(Array.from({ length: workers }, work));
  return {
    remains: found.flatMap(({ remains = [] }) => remains),
    undiscovered: found.flatMap(({ undiscovered = [] }) => undiscovered),
  };
}

async function emptyGroup(versions: readonly RemoteGroup[], emptying: Emptying): Promise<EmptyNamespaceResponse> {
  const remains: ExtensionRemains[] = [];
  const undiscovered: { groupVersion: string; message: string }[] = [];
  const seen = new Set<string>();
  for (const remote of versions) {
    const found = await discover(remote, emptying);
    if (typeof found === 'string') {
      undiscovered.push({ groupVersion: `${remote.group}/${remote.version}`, message: found });
      continue;
    }
    const wanted = found.filter((each) => isEmptied(each) && !seen.has(each.name));
    for (const { name } of wanted) seen.add(name);
    remains.push(...(await emptyVersion(remote, wanted, emptying)));
  }
  return { remains, undiscovered };
}

const isEmptied = ({ name, namespaced, verbs }: Resource): boolean =>
  namespaced && !name.includes('/') && verbs.includes('delete');

/** What the server serves now, or why it did not say so. */
async function discover(remote: RemoteGroup, { ask, signal }: Emptying): Promise<readonly Resource[] | string> {
  if (!remote.isAvailable) return 'its APIService is not available';
  try {
    const path = `/apis/${remote.group}/${remote.version}`;
    const { code, body } = await ask(remote, { path, accept: JSON_TYPE, withinMs: discoveryMs, mostBytes });
    if (code !== 200) return `its server answered with the status ${code}`;
    return readResources(body.toString('utf8')) ?? 'its server answered with no list of resources';
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

/** A server that did not answer once is not waited for again. */
async function emptyVersion(
  remote: RemoteGroup,
  resources: readonly Resource[],
  emptying: Emptying,
): Promise<ExtensionRemains[]> {
  let unreachable: string | undefined;
  const remains: ExtensionRemains[] = [];
  for (const resource of resources) {
    const name = `${resource.name}.${remote.group}`;
    try {
      const left = unreachable === undefined ? await emptyResource(remote, resource, emptying) : { failure: unreachable };
      remains.push({ resource: name, ...left });
    } catch (error) {
      emptying.signal.throwIfAborted();
      const failure = messageOf(error);
      if (!(error instanceof Refusal)) unreachable = failure;
      remains.push({ resource: name, failure });
    }
  }
  return remains;
}

/** An answer that is no success. */
class Refusal extends Error {}

async function emptyResource(remote: RemoteGroup, { name, verbs }: Resource, { namespace, ask }: Emptying) {
  const collection = `/apis/${remote.group}/${remote.version}/namespaces/${encodeURIComponent(namespace)}/${name}`;
  const send = async (method: string, path: string, accept: string): Promise<ExtensionAnswer> => {
    const answer = await ask(remote, { method, path, accept, withinMs, mostBytes });
    if (answer.code >= 300 && !isAbsent(answer)) throw new Refusal(refusalOf(answer));
    return answer;
  };
  const remove = (path: string) => send('DELETE', `${path}?propagationPolicy=Background`, JSON_TYPE);
  const list = async () => readList(await send('GET', `${collection}?limit=${sampled}`, METADATA_TYPE));
  const deletesAll = verbs.includes('deletecollection') && !isAbsent(await remove(collection));
  // What cannot be listed is not known to be there.
  if (!verbs.includes('list')) return { count: 0 };
  if (!deletesAll) for (const each of (await list()).items) await remove(`${collection}/${encodeURIComponent(each.name)}`);
  return leftOf(await list());
}

/** The resource, or this way of asking for it, is not served. */
const isAbsent = ({ code }: ExtensionAnswer): boolean => code === 404 || code === 405;

const messageOf = (error: unknown): string => (error as Error).message.slice(0, mostMessage);

function refusalOf({ code, body }: ExtensionAnswer): string {
  const status = parsed(body);
  const message = isJsonObject(status) && typeof status.message === 'string' ? `: ${status.message}` : '';
  return `the server answered with the status ${code}${message}`;
}

interface Listed {
  readonly items: readonly { readonly name: string; readonly finalizers: readonly string[] }[];
  readonly others: number;
}

/** Throws where the answer is no list. */
function readList(answer: ExtensionAnswer): Listed {
  if (isAbsent(answer)) return { items: [], others: 0 };
  const list = parsed(answer.body);
  if (!isJsonObject(list) || !(list.items === null || Array.isArray(list.items)))
    throw new Refusal('the server answered with something that is no list');
  const { remainingItemCount, continue: next } = isJsonObject(list.metadata) ? list.metadata : ({} as JsonObject);
  const items = ((list.items ?? []) as unknown[]).map((item) => {
    const metadata = isJsonObject(item) && isJsonObject(item.metadata) ? item.metadata : {};
    const finalizers = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
    return { name: String(metadata.name), finalizers: finalizers.filter((each): each is string => typeof each === 'string') };
  });
  // With selectors, and from servers that do not count, there is no number of what is on other pages.
  const others = Number.isSafeInteger(remainingItemCount) ? Number(remainingItemCount) : next ? 1 : 0;
  return { items, others };
}

function leftOf({ items, others }: Listed): Pick<ExtensionRemains, 'count' | 'finalizers'> {
  const finalizers: Record<string, number> = {};
  for (const name of items.flatMap((each) => each.finalizers)) finalizers[name] = (finalizers[name] ?? 0) + 1;
  return { count: items.length + others, finalizers };
}

function parsed(body: Buffer): unknown {
  try {
    return isTextTooDeep(body) ? undefined : JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
