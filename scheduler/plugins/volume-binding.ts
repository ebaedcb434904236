import type { NodeSelector, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { compileNodeSelector, type NodePredicate } from '../../api/kinds/node/selector.ts';
import { selectedNode, storageClassOf } from '../../api/kinds/storage.ts';
import { noProvisioner } from '../../api/kinds/storage-class/local-path.ts';
import { isBound, waitsForConsumer } from '../../api/kinds/volume-matching.ts';
import { splitKey } from '../../api/meta/key.ts';
import type { NodeTable } from '../cache/node-table.ts';
import { explainSelectorMismatch } from '../framework/node-mismatch.ts';
import {
  type Attempt,
  definePlugin,
  type Plugin,
  proceed,
  type Rejection,
  skip,
  unresolvable,
  unschedulable,
} from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { explainOpen, type OpenClaim, openClaims, promisesOn, type StorageView } from '../storage/open-claims.ts';
import type { VolumePromises } from '../storage/promises.ts';
import { type VolumeWriter, waitsForVolume } from '../storage/volume-writer.ts';

/** What the plugin reads, remembers between a placement and its binding, and has written. */
export interface Storage extends StorageView {
  readonly promises: VolumePromises;
  readonly writer: Pick<VolumeWriter, 'keep'>;
}

/** A scheduler that knows no claims: pods that use one wait. */
export const noStorage: Storage = {
  claims: { get: () => undefined },
  volumes: { get: () => undefined, byIndex: () => [] },
  classes: { get: () => undefined },
  promises: { toClaim: () => undefined, holderOf: () => undefined, toPod: () => [], make: () => {}, end: () => {} },
  writer: { keep: async () => undefined },
};

interface State {
  /** Volumes that not every node reaches. */
  readonly reached: readonly Reached[];
  /** Claims that get their volume where the pod goes. */
  readonly open: readonly OpenClaim[];
  /** Where others use a volume that is for one node at a time; undefined when none is in use. */
  readonly inUseOn: ReadonlySet<number> | undefined;
  /** The claims of such volumes. */
  readonly inUse: readonly string[];
}

/** The same before the claims without a volume were looked at. */
type ClaimsFound = Omit<State, 'open'> & {
  readonly open: readonly { readonly key: string; readonly claim: PersistentVolumeClaim }[];
};

interface Reached {
  readonly claim: string;
  readonly volume: string;
  readonly selector: NodeSelector;
  readonly matches: NodePredicate;
}

const unreached = unresolvable('node(s) had volume node affinity conflict', ['node/added', 'node/labels', 'storage/changed']);
const nothingThere = unresolvable("node(s) didn't find available persistent volumes to bind", [
  'node/added',
  'node/labels',
  'pod/removed',
  'storage/changed',
  'storage/class',
]);
const elsewhere = unschedulable('node(s) had a ReadWriteOnce volume in use on another node', ['pod/removed', 'node/added']);
const podInUse = unschedulable('node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode', [
  'pod/removed',
  'storage/changed',
]);

/**
 * Brings a pod to where its volumes are, or can be. Claims that are bound at once are a controller's: the pod waits for
 * them, and goes to nodes that reach their volumes. For claims that wait for a pod a node needs a free volume that it
 * reaches, or to be one where a volume can be made; that is promised with the placement, and written and waited for
 * before the pod is bound. A volume that is for one node at a time brings its pods together, and one for a single pod
 * lets no second one in.
 */
export function volumeBinding(storage: Storage): Plugin<State> {
  const { claims, promises, writer } = storage;
  return definePlugin<State>({
    name: 'VolumeBinding',
    prepare({ pod, nodes }) {
      if (pod.claims.length === 0) return skip;
      const looked = lookAtClaims(pod, nodes, storage);
      if ('kind' in looked) return looked;
      const { open, ...state } = looked;
      const isFiltered = state.reached.length + open.length > 0 || state.inUseOn !== undefined;
      return proceed({ ...state, open: openClaims(open, storage) }, { filter: isFiltered, score: false });
    },
    filter({ reached, inUseOn, open }, nodes, row) {
      for (let i = 0; i < reached.length; i++) if (!reached[i]!.matches(nodes.nodes[row]!)) return unreached;
      if (inUseOn !== undefined && !inUseOn.has(row)) return elsewhere;
      return open.length === 0 || Array.isArray(promisesOn(open, nodes.nodes[row]!)) ? undefined : nothingThere;
    },
    explain({ reached, inUseOn, inUse, open }, nodes, row) {
      const node = nodes.nodes[row]!;
      const far = reached.find(({ matches }) => !matches(node));
      if (far) return `claim "${far.claim}" has volume "${far.volume}", which ${explainSelectorMismatch(far.selector, node)}`;
      if (inUseOn !== undefined && !inUseOn.has(row))
        return `another pod uses ${wordClaims(inUse)} on ${wordNodes(inUseOn, nodes)}`;
      const lacking = promisesOn(open, node);
      return 'claim' in lacking ? explainOpen(lacking, node) : '';
    },
    reserve({ open }, { pod, nodes }: Attempt, nodeName) {
      if (open.length === 0) return () => {};
      const promised = promisesOn(open, nodes.nodes[nodes.rowOf(nodeName) ?? -1] ?? {});
      if ('claim' in promised) return nothingThere;
      promises.make(pod.uid, promised);
      return () => promises.end(pod.uid);
    },
    async preBind({ pod }, signal) {
      const promised = promises.toPod(pod.uid);
      if (promised.length === 0) return undefined;
      const rejection = await writer.keep(promised, signal);
      if (rejection === undefined) promises.end(pod.uid);
      return rejection;
    },
    helps(pod, event) {
      if (event.kind === 'storage/changed') return pod.claims.includes(event.claim);
      if (event.kind === 'storage/class') return classesOf(pod).includes(event.storageClass);
      if (event.kind === 'pod/removed') return event.pod.claims.length > 0 && freesFor(pod, event.pod);
      return 'node' in event;
    },
  });

  /** Of its claims without a volume. */
  function classesOf(pod: PodInfo): string[] {
    return pod.claims.flatMap((key) => {
      const claim = claims.get(key);
      return claim === undefined || isBound(claim) ? [] : [storageClassOf(claim)];
    });
  }

  /** A removed pod may have shared a claim; a pod with a reverted placement returns its promised volumes. */
  function freesFor(pod: PodInfo, gone: PodInfo): boolean {
    if (gone.claims.some((key) => pod.claims.includes(key))) return true;
    const wanted = classesOf(pod);
    return wanted.length > 0 && classesOf(gone).some((name) => wanted.includes(name));
  }
}

/**
 * Where the pod's claims let it go: to nodes that reach their volumes, and, for a volume of one node,
 * to its other pods.
 */
function lookAtClaims(pod: PodInfo, nodes: NodeTable, storage: Storage): ClaimsFound | Rejection {
  const reached: Reached[] = [];
  const inUse: string[] = [];
  const open: { key: string; claim: PersistentVolumeClaim }[] = [];
  let inUseOn: Set<number> | undefined;
  for (const key of pod.claims) {
    const claim = storage.claims.get(key);
    const problem = problemOf(key, claim, storage);
    if (claim === undefined || problem !== undefined) return waitsForVolume(problem ?? '');
    if (isOpen(claim, storage)) open.push({ key, claim });
    const volume = claim.spec?.volumeName ?? '';
    const selector = storage.volumes.get(volume)?.spec?.nodeAffinity?.required;
    if (selector) reached.push({ claim: nameOf(key), volume, selector, matches: compileNodeSelector(selector) });
    if (!isForOne(claim)) continue;
    const rows = rowsUsing(key, nodes);
    if (rows.size > 0 && claim.spec?.accessModes?.includes('ReadWriteOncePod')) return podInUse;
    if (rows.size === 0) continue;
    inUseOn = inUseOn === undefined ? rows : intersection(inUseOn, rows);
    inUse.push(nameOf(key));
  }
  return { reached, inUseOn, inUse, open };
}

/** Whether the claim gets its volume only where its pod goes. */
function isOpen(claim: PersistentVolumeClaim, { classes }: Storage): boolean {
  return !claim.spec?.volumeName && waitsForConsumer(classes.get(storageClassOf(claim)));
}

/** Why the pod waits, in Kubernetes' words; undefined when the claim has its volume, or gets it where the pod goes. */
function problemOf(key: string, claim: PersistentVolumeClaim | undefined, { volumes, classes }: Storage): string | undefined {
  const name = nameOf(key);
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
  if (claim.metadata?.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`;
  const { volumeName } = claim.spec ?? {};
  if (isBound(claim)) {
    const isLost = claim.status?.phase === 'Lost' || volumes.get(volumeName ?? '') === undefined;
    return isLost ? `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volumeName}"` : undefined;
  }
  const className = storageClassOf(claim);
  const storageClass = classes.get(className);
  if (volumeName || !waitsForConsumer(storageClass)) {
    const lacksClass = !volumeName && className && !storageClass;
    const hint = lacksClass ? `, whose storageclass "${className}" does not exist` : '';
    return `pod has unbound immediate PersistentVolumeClaims: "${name}"${hint}`;
  }
  const nodeName = selectedNode(claim);
  if (nodeName === undefined || storageClass?.provisioner === noProvisioner) return undefined;
  return `persistentvolumeclaim "${name}" waits for its volume, which "${storageClass?.provisioner}" is to make on node "${nodeName}"`;
}

const nameOf = (key: string): string => splitKey(key).name;
const wordClaims = (names: readonly string[]): string =>
  `claim${names.length > 1 ? 's' : ''} ${names.map((name) => `"${name}"`).join(' and ')}`;

function wordNodes(rows: ReadonlySet<number>, nodes: NodeTable): string {
  const names = [...rows].map((row) => nodes.names[row]);
  return names.length === 0 ? 'several nodes' : `node ${names.join(', ')}`;
}

/** Whether the volume may be used on one node only at a time. */
function isForOne(claim: PersistentVolumeClaim | undefined): boolean {
  return (claim?.spec?.accessModes ?? []).every((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

function rowsUsing(key: string, nodes: NodeTable): Set<number> {
  const rows = new Set<number>();
  if (nodes.sums.claimUses === 0) return rows;
  for (let row = 0; row < nodes.count; row++) if (nodes.columns.claimUses[row]! > 0 && nodes.claims[row]!.has(key)) rows.add(row);
  return rows;
}

function intersection(a: ReadonlySet<number>, b: ReadonlySet<number>): Set<number> {
  return new Set([...a].filter((row) => b.has(row)));
}
