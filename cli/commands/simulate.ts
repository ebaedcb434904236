import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { eachManifest } from '../each-manifest.ts';
import { ExitWith } from '../failure.ts';
import { type ManifestFlags, readManifests } from '../manifests.ts';
import { type Session, withSession } from '../session.ts';
import { withManifestFlags } from '../write-options.ts';

interface SimulateFlags extends ManifestFlags {
  readonly output?: string;
}

export function registerSimulate(program: Command): void {
  const command = program
    .command('simulate')
    .description('Show where the pods of manifests would go, one after the other, without creating them')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['json']))
    .action(async (flags: Partial<SimulateFlags>, command: Command) => {
      const { filename } = flags;
      if (!filename) throw badRequest('say which pods: -f FILE');
      await withSession(command, (session) => simulate(session, { ...flags, filename }));
    });
  withManifestFlags(command, 'file, folder, or - for standard input');
}

async function simulate(session: Session, flags: SimulateFlags): Promise<void> {
  const pods: Pod[] = [];
  await eachManifest(session, await readManifests(flags), async ({ kind, object }) => {
    if (kind.kind !== 'Pod') return void process.stderr.write(`${kind.kind} is passed over: only pods are placed\n`);
    const { metadata } = object;
    pods.push({ ...object, metadata: { ...metadata, namespace: metadata?.namespace || session.namespace } });
  });
  if (pods.length === 0) throw badRequest('the manifests hold no pods');
  const { pods: explained = [] } = await session.client.placements.simulate({ pods });
  const { jsonText, simulationTable } = await import('../why/report.ts');
  process.stdout.write(flags.output === 'json' ? jsonText('SimulateResponse', { pods: explained }) : simulationTable(explained));
  const nowhere = explained.filter(({ nodeName }) => !nodeName).length;
  if (nowhere > 0) throw new ExitWith(1, `${nowhere} of ${explained.length} pods would fit nowhere`);
}
