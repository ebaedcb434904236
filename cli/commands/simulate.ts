import { type Command, Option } from 'commander';
import { badRequest, isNotFound, isPermissionDenied } from '../../api/errors/index.ts';
import type { Explanation, PersistentVolumeClaim, Pod, StorageClass } from '../../api/generated/types.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import { eachManifest } from '../manifests/each-manifest.ts';
import { type ManifestFlags, readManifests } from '../manifests/manifests.ts';
import { ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { whyNotAnywhere } from '../why/claims-to-make.ts';
import { simulatedPods } from '../why/simulated-pods.ts';
import { withManifestFlags } from '../write/write-options.ts';

interface SimulateFlags extends ManifestFlags {
  readonly output?: string;
}

export function registerSimulate(program: Command): void {
  const command = program
    .command('simulate')
    .description('Show where the pods of manifests would be placed, without creating them')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['json']))
    .action(async (flags: Partial<SimulateFlags>, command: Command) => {
      const { filename } = flags;
      if (!filename) throw badRequest('say which pods: -f FILE');
      await withSession(command, (session) => simulate(session, { ...flags, filename }));
    });
  withManifestFlags(command, 'file, folder, or - for standard input');
}

async function simulate(session: Session, flags: SimulateFlags): Promise<void> {
  const asked: Pod[] = [];
  const claims: PersistentVolumeClaim[] = [];
  const ownClaims: PersistentVolumeClaim[] = [];
  const classes: StorageClass[] = [];
  await eachManifest(session, await readManifests(flags), async ({ kind, object }) => {
    const { metadata } = object;
    const named = { ...object, metadata: { ...metadata, namespace: metadata?.namespace || session.namespace } };
    const made = simulatedPods(kind, named);
    if (made) {
      asked.push(...made.pods);
      ownClaims.push(...made.claims);
    } else if (kind.kind === 'PersistentVolumeClaim') claims.push(named);
    else if (kind.kind === 'StorageClass') classes.push(object);
    else if (kind.kind === 'DaemonSet') {
      process.stderr.write(`daemonset "${metadata?.name}" is left out: it has a pod on each node that suits it\n`);
    }
  });
  if (asked.length === 0) throw badRequest('the manifests hold no pods, nor workloads that have some');
  const { anywhere, unknown } = await claimsToMake(session, ownClaims, classes);
  const pods = asked.map((pod) => withoutClaims(pod, anywhere));
  for (const key of (await claimsToCome(session, claims)).keys()) unknown.set(key, '');
  const explained = await explain(session, pods, unknown);
  const { jsonText, simulationTable } = await import('../why/report.ts');
  process.stdout.write(flags.output === 'json' ? jsonText('SimulateResponse', { pods: explained }) : simulationTable(explained));
  const waiting = pods.filter((pod) => awaited(pod, unknown).length > 0).length;
  const nowhere = explained.filter(({ nodeName, fitting = 0 }) => !nodeName && fitting === 0).length - waiting;
  const failures = [
    ...(nowhere > 0 ? [`${nowhere} of ${explained.length} pods would fit nowhere`] : []),
    ...(waiting > 0 ? [`of ${waiting} of ${explained.length} pods nothing can be said before their claims are there`] : []),
  ];
  if (failures.length > 0) throw new ExitWith(1, failures.join('; '));
}

/** Claims by namespace/name that the API does not have yet. */
type Claims = ReadonlyMap<string, PersistentVolumeClaim>;
/** Such claims whose volume may be on any node, with the reason where there is one. */
type Unknown = ReadonlyMap<string, string>;

async function claimsToCome({ client }: Session, claims: readonly PersistentVolumeClaim[]): Promise<Claims> {
  const found = new Map<string, PersistentVolumeClaim>();
  for (const claim of claims) {
    const { namespace = '', name = '' } = claim.metadata ?? {};
    try {
      await client.persistentVolumeClaims.get({ namespace, name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      found.set(`${namespace}/${name}`, claim);
    }
  }
  return found;
}

/**
 * Of the claims that are made for the pods: which leave their pods every node, and why the others do not. `own` are the
 * classes of the same manifests.
 */
async function claimsToMake(session: Session, claims: readonly PersistentVolumeClaim[], own: readonly StorageClass[]) {
  const toCome = await claimsToCome(session, claims);
  const stored = toCome.size > 0 ? await storageClasses(session) : undefined;
  const classes = stored && [...own, ...stored];
  const anywhere = new Set<string>();
  const unknown = new Map<string, string>();
  for (const [key, claim] of toCome) {
    const why = classes && whyNotAnywhere(claim, classes);
    if (why === undefined) anywhere.add(key);
    else unknown.set(key, why);
  }
  return { anywhere, unknown };
}

/** Undefined for users who may not read them: their claims are taken for such that wait for their pod. */
async function storageClasses({ client }: Session): Promise<readonly StorageClass[] | undefined> {
  try {
    return (await client.storageClasses.list({})).items;
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    return undefined;
  }
}

/** Without the volumes of claims that leave the pod every node. */
function withoutClaims(pod: Pod, anywhere: ReadonlySet<string>): Pod {
  const { metadata, spec } = pod;
  if (awaited(pod, anywhere).length === 0) return pod;
  const volumes = spec?.volumes?.filter(({ volumeSource }) => {
    const { claimName } = volumeSource?.persistentVolumeClaim ?? {};
    return claimName === undefined || !anywhere.has(`${metadata?.namespace}/${claimName}`);
  });
  return { ...pod, spec: { ...spec, ...(volumes && { volumes }) } };
}

/** The scheduler is asked about those pods of which it knows all that it needs to. */
async function explain({ client }: Session, pods: readonly Pod[], unknown: Unknown): Promise<Explanation[]> {
  const known = pods.filter((pod) => awaited(pod, unknown).length === 0);
  const { pods: answers = [] } = known.length > 0 ? await client.placements.simulate({ pods: known }) : {};
  return pods.map((pod) => answers[known.indexOf(pod)] ?? notKnown(pod, unknown));
}

/** The names of the pod's claims that are among these. */
function awaited(pod: Pod, claims: { has(key: string): boolean }): string[] {
  return claimsOf(pod).filter((name) => claims.has(`${pod.metadata?.namespace}/${name}`));
}

function notKnown(pod: Pod, unknown: Unknown): Explanation {
  const { namespace = '', name = '' } = pod.metadata ?? {};
  const names = awaited(pod, unknown);
  const reasons = names.flatMap((claim) => unknown.get(`${namespace}/${claim}`) || []);
  const message =
    reasons.length > 0
      ? `the node of its volume is not known before the claim is there: ${reasons.join('; ')}`
      : `uses a claim that is in the manifests and not there yet, so that the node of its volume is not known: ${names.join(', ')}; apply that first`;
  return { namespace, name, message };
}
