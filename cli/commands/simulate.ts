import { type Command, Option } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { Explanation, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { claimsOf } from '../../api/kinds/storage.ts';
import { eachManifest } from '../manifests/each-manifest.ts';
import { type ManifestFlags, readManifests } from '../manifests/manifests.ts';
import { ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
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
  await eachManifest(session, await readManifests(flags), async ({ kind, object }) => {
    const { metadata } = object;
    const named = { ...object, metadata: { ...metadata, namespace: metadata?.namespace || session.namespace } };
    const made = simulatedPods(kind, named);
    if (made) {
      asked.push(...made.pods);
      ownClaims.push(...made.claims);
    } else if (kind.kind === 'PersistentVolumeClaim') claims.push(named);
    else if (kind.kind === 'DaemonSet') {
      process.stderr.write(`daemonset "${metadata?.name}" is left out: it has a pod on each node that suits it\n`);
    }
  });
  if (asked.length === 0) throw badRequest('the manifests hold no pods, nor workloads that have some');
  const toMake = await claimsToCome(session, ownClaims);
  const pods = asked.map((pod) => withoutClaims(pod, toMake));
  const toCome = await claimsToCome(session, claims);
  const explained = await explain(session, pods, toCome);
  const { jsonText, simulationTable } = await import('../why/report.ts');
  process.stdout.write(flags.output === 'json' ? jsonText('SimulateResponse', { pods: explained }) : simulationTable(explained));
  const unknown = pods.filter((pod) => awaited(pod, toCome).length > 0).length;
  const nowhere = explained.filter(({ nodeName, fitting = 0 }) => !nodeName && fitting === 0).length - unknown;
  const failures = [
    ...(nowhere > 0 ? [`${nowhere} of ${explained.length} pods would fit nowhere`] : []),
    ...(unknown > 0 ? [`of ${unknown} of ${explained.length} pods nothing can be said before their claims are there`] : []),
  ];
  if (failures.length > 0) throw new ExitWith(1, failures.join('; '));
}

/** Those that the API does not have yet, by namespace/name. */
async function claimsToCome({ client }: Session, claims: readonly PersistentVolumeClaim[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { metadata } of claims) {
    const { namespace = '', name = '' } = metadata ?? {};
    try {
      await client.persistentVolumeClaims.get({ namespace, name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      found.add(`${namespace}/${name}`);
    }
  }
  return found;
}

/** Without the volumes of claims that are made for the pod alone, and so where it goes. */
function withoutClaims(pod: Pod, toMake: ReadonlySet<string>): Pod {
  const { metadata, spec } = pod;
  if (awaited(pod, toMake).length === 0) return pod;
  const volumes = spec?.volumes?.filter(({ volumeSource }) => {
    const { claimName } = volumeSource?.persistentVolumeClaim ?? {};
    return claimName === undefined || !toMake.has(`${metadata?.namespace}/${claimName}`);
  });
  return { ...pod, spec: { ...spec, ...(volumes && { volumes }) } };
}

/** The scheduler is asked about those pods of which it knows all that it needs to. */
async function explain({ client }: Session, pods: readonly Pod[], toCome: ReadonlySet<string>): Promise<Explanation[]> {
  const known = pods.filter((pod) => awaited(pod, toCome).length === 0);
  const { pods: answers = [] } = known.length > 0 ? await client.placements.simulate({ pods: known }) : {};
  return pods.map((pod) => answers[known.indexOf(pod)] ?? notKnown(pod, awaited(pod, toCome)));
}

/** The names of the pod's claims that are still to come. */
function awaited(pod: Pod, toCome: ReadonlySet<string>): string[] {
  return claimsOf(pod).filter((name) => toCome.has(`${pod.metadata?.namespace}/${name}`));
}

function notKnown({ metadata }: Pod, claims: readonly string[]): Explanation {
  const message = `uses a claim that is in the manifests and not there yet, so that the node of its volume is not known: ${claims.join(', ')}; apply that first`;
  return { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '', message };
}
