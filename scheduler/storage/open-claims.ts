import type { Node, NodeSelector, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts';
import { compileNodeSelector, type NodePredicate } from '../../api/kinds/node/selector.ts';
import { accessModesCell, isKeptFor, storageClassOf } from '../../api/kinds/storage.ts';
import { noProvisioner } from '../../api/kinds/storage-class/local-path.ts';
import { compareVolumes, compileChoice, compileTopologies, satisfies } from '../../api/kinds/volume-matching.ts';
import { splitKey } from '../../api/meta/key.ts';
import { compareQuantity } from '../../api/meta/quantity.ts';
import { labels } from '../../api/meta/well-known.ts';
import type { Lister } from '../../client/informer/indexer.ts';
import type { Promised, VolumePromises } from './promises.ts';

/** What is read of claims, volumes and classes: what the informers know in this moment. */
export interface StorageView {
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'get'>;
  /** With the indexes `volumeIndexers`. */
  readonly volumes: Pick<Lister<PersistentVolume>, 'get' | 'byIndex'>;
  readonly classes: Pick<Lister<StorageClass>, 'get'>;
  readonly promises: Pick<VolumePromises, 'toClaim' | 'holderOf'>;
}

/** A claim that gets its volume where its pod goes, with all that can be said before a node is looked at. */
export interface OpenClaim {
  readonly key: string;
  readonly claim: PersistentVolumeClaim;
  readonly choice: Choice;
  /** How many volumes of its class are free, whether or not they satisfy it. */
  readonly free: number;
  /** Where a volume can be made for it; undefined: nowhere. */
  readonly making: Making | undefined;
  /** Where its volume is going to be made for another pod. */
  readonly promisedNode: string | undefined;
}

interface Making {
  readonly allows: NodePredicate | undefined;
}

/**
 * The volumes that satisfy a claim. Most are for one host: those are found by its name,
 * so that no look at a node goes through all of them.
 */
export interface Choice {
  readonly count: number;
  /** The best that the node reaches and that is not among those taken. */
  bestFor(node: Node, taken: ReadonlySet<string>): string | undefined;
}

/** The claims of one pod, the smallest first, as Kubernetes serves them. */
export function openClaims(
  claims: readonly { readonly key: string; readonly claim: PersistentVolumeClaim }[],
  view: StorageView,
): OpenClaim[] {
  const size = ({ claim }: { claim: PersistentVolumeClaim }) => claim.spec?.resources?.requests?.storage;
  return claims.toSorted((a, b) => compareQuantity(size(a), size(b))).map(({ key, claim }) => openClaim(key, claim, view));
}

function openClaim(key: string, claim: PersistentVolumeClaim, view: StorageView): OpenClaim {
  const uid = claim.metadata?.uid ?? '';
  const storageClass = view.classes.get(storageClassOf(claim));
  const free = view.volumes.byIndex('freeClass', storageClassOf(claim));
  const promised = view.promises.toClaim(uid);
  const mayChoose = compileChoice(claim);
  const isFree = (volume: PersistentVolume) =>
    mayChoose(volume) && view.promises.holderOf(volume.metadata?.name ?? '') === undefined;
  const own = promised?.volume === undefined ? keptFor(key, claim, view) : view.volumes.get(promised.volume);
  const provisioner = storageClass?.provisioner;
  return {
    key,
    claim,
    choice: createChoice(own ? [own] : free.filter(isFree)),
    free: free.length,
    making:
      provisioner && provisioner !== noProvisioner && !own
        ? { allows: compileTopologies(storageClass.allowedTopologies) }
        : undefined,
    promisedNode: promised && !own ? promised.nodeName : undefined,
  };
}

/** The volume that is reserved for the claim. */
function keptFor(key: string, claim: PersistentVolumeClaim, { volumes }: StorageView): PersistentVolume | undefined {
  return volumes.byIndex('claim', key).find((volume) => isKeptFor(volume.spec ?? {}, claim) && satisfies(volume, claim));
}

interface Candidate {
  readonly volume: PersistentVolume;
  readonly name: string;
  /** Undefined where every node reaches it. */
  readonly reaches: NodePredicate | undefined;
}

function createChoice(volumes: readonly PersistentVolume[]): Choice {
  const anywhere: Candidate[] = [];
  const byHost = new Map<string, Candidate[]>();
  for (const volume of volumes) {
    const { required } = volume.spec?.nodeAffinity ?? {};
    const { hosts, isAll } = hostsOf(required);
    const reaches = required === undefined || isAll ? undefined : compileNodeSelector(required);
    const candidate = { volume, name: volume.metadata?.name ?? '', reaches };
    if (hosts === undefined) anywhere.push(candidate);
    for (const host of hosts ?? []) {
      const known = byHost.get(host);
      if (known) known.push(candidate);
      else byHost.set(host, [candidate]);
    }
  }
  // Every node looks at these, so they are in order; those of a host are few.
  anywhere.sort((a, b) => compareVolumes(a.volume, b.volume));
  return {
    count: volumes.length,
    bestFor(node, taken) {
      const fits = ({ name, reaches }: Candidate) => !taken.has(name) && (reaches === undefined || reaches(node));
      let best = anywhere.find(fits);
      for (const each of byHost.get(node.metadata?.labels?.[labels.hostname] ?? '') ?? [])
        if (fits(each) && (best === undefined || compareVolumes(each.volume, best.volume) < 0)) best = each;
      return best?.name;
    },
  };
}

/**
 * The hosts that alone can reach a volume, where its affinity names them in the usual way,
 * and whether it asks for nothing else.
 */
function hostsOf(required: NodeSelector | undefined): {
  readonly hosts?: readonly string[] | undefined;
  readonly isAll?: boolean;
} {
  const { nodeSelectorTerms = [] } = required ?? {};
  const [{ matchExpressions = [], matchFields = [] } = {}] = nodeSelectorTerms;
  if (nodeSelectorTerms.length !== 1) return {};
  const hosts = matchExpressions.find(({ key, operator }) => key === labels.hostname && operator === 'In')?.values;
  return { hosts, isAll: hosts !== undefined && matchExpressions.length + matchFields.length === 1 };
}

/** What every claim would get on the node, or the first that would get nothing. */
export function promisesOn(claims: readonly OpenClaim[], node: Node): readonly Promised[] | OpenClaim {
  const taken = new Set<string>();
  const promised: Promised[] = [];
  const nodeName = node.metadata?.name ?? '';
  for (const open of claims) {
    const own = { claim: open.key, claimUid: open.claim.metadata?.uid ?? '', nodeName };
    const volume = open.promisedNode === undefined ? open.choice.bestFor(node, taken) : undefined;
    if (volume === undefined && !canBeMade(open, node)) return open;
    promised.push(volume === undefined ? own : { ...own, volume });
    if (volume !== undefined) taken.add(volume);
  }
  return promised;
}

function canBeMade({ making, promisedNode }: OpenClaim, node: Node): boolean {
  if (promisedNode !== undefined) return promisedNode === node.metadata?.name;
  return making !== undefined && (making.allows === undefined || making.allows(node));
}

/** In figures, what keeps a claim from getting a volume on the node. */
export function explainOpen({ key, claim, choice, free, making, promisedNode }: OpenClaim, node: Node): string {
  const { name } = splitKey(key);
  if (promisedNode !== undefined) return `the volume of claim "${name}" is being made on node "${promisedNode}"`;
  const { accessModes, resources } = claim.spec ?? {};
  const storageClass = storageClassOf(claim);
  const asked = `claim "${name}" asks for ${resources?.requests?.storage?.string ?? '0'} ${accessModesCell(accessModes)} of class "${storageClass}"`;
  const there = `of ${free} free volumes of the class ${choice.count} would do, none of them left and reached from here`;
  const made =
    making === undefined
      ? 'and the class has none made'
      : `and the class has none made on nodes with the labels ${JSON.stringify(node.metadata?.labels ?? {})}`;
  return `${asked}: ${there}, ${made}`;
}
