import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { namespaces as wellKnown } from '../../api/meta/well-known.ts';
import type { DumpFlags } from '../cluster-info/dump.ts';
import { type Session, withSession } from '../session.ts';

interface DumpCommandFlags extends DumpFlags {
  readonly allNamespaces?: boolean;
  readonly namespaces?: readonly string[];
}

export function registerClusterInfo(program: Command): void {
  const info = program
    .command('cluster-info')
    .description("Show the server's address and the health of the control plane; with dump: all data for a bug report")
    .action(async (_flags: unknown, command: Command) => {
      const { showControlPlane } = await import('../cluster-info/control-plane.ts');
      await withSession(command, showControlPlane);
    });
  info
    .command('dump')
    .description('Write nodes, and pods, events and logs of namespaces, as they are now; no ConfigMaps and Secrets')
    .option('--output-directory <folder>', 'into files of this folder; without it, or with -: standard output')
    .addOption(new Option('-o, --output <format>', 'how to write objects').choices(['json', 'yaml']).default('json'))
    .option(
      '--namespaces <names>',
      'of these namespaces, with commas (default: that of the context, and kube-system)',
      parseNames,
    )
    .option('-A, --all-namespaces', 'of all namespaces')
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DumpCommandFlags>();
      if (flags.allNamespaces && flags.namespaces) throw badRequest('--namespaces and --all-namespaces exclude each other');
      const { dumpCluster } = await import('../cluster-info/dump.ts');
      await withSession(command, async (session) => dumpCluster(session, await chooseNamespaces(session, flags), flags));
    });
}

function parseNames(text: string): string[] {
  return text.split(',').filter(Boolean);
}

async function chooseNamespaces(
  { client, namespace }: Session,
  { allNamespaces, namespaces }: DumpCommandFlags,
): Promise<readonly string[]> {
  if (!allNamespaces) return namespaces ?? [...new Set([namespace, wellKnown.system])];
  const { listAll } = await import('../../client/index.ts');
  return (await listAll(client.namespaces)).items.map(({ metadata }) => metadata?.name ?? '');
}
