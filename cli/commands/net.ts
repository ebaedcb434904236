import { type Command, Option } from 'commander';
import { ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';

interface CheckFlags {
  readonly output?: 'json';
}

export function registerNet(program: Command): void {
  const net = program.command('net').description('Check the network of pods: berth net check');
  net
    .command('check')
    .description('Let nodes check their routes, rules, names and ways to each other; exit code 1 when something is wrong')
    .argument('[node...]', 'only these; without: all')
    .addOption(new Option('-o, --output <format>', 'json: all that was checked').choices(['json']))
    .action(async (names: string[], flags: CheckFlags, command: Command) => {
      await withSession(command, (session) => checkNetwork(session, names, flags));
    });
}

async function checkNetwork({ client }: Session, names: readonly string[], { output }: CheckFlags): Promise<void> {
  const [{ checkNodes }, { checkJson, checkTable, isRouted, problemsOf }] = await Promise.all([
    import('../net/check-nodes.ts'),
    import('../net/check-report.ts'),
  ]);
  const checks = await checkNodes(client, await nodesOf(client, names));
  if (output === 'json') process.stdout.write(`${JSON.stringify(checkJson(checks), undefined, 2)}\n`);
  else if (checks.length > 0) process.stdout.write(checkTable(checks));
  else process.stderr.write('There are no nodes.\n');
  const problems = problemsOf(checks);
  if (problems.length > 0) {
    const nodes = new Set(problems.map(({ nodeName }) => nodeName)).size;
    throw new ExitWith(1, `the network is not whole: ${count(problems.length, 'problem')} on ${count(nodes, 'node')}`);
  }
  if (checks.length > 0 && !isRouted(checks))
    process.stderr.write("No node has the routed network (--pod-network routed): there is nothing to check in the engine's.\n");
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Those that are named, which have to be there, or all of them. Throws NOT_FOUND. */
async function nodesOf({ nodes }: Session['client'], names: readonly string[]): Promise<string[]> {
  if (names.length > 0) {
    await Promise.all(names.map((name) => nodes.get({ name })));
    return [...new Set(names)];
  }
  const { listAll } = await import('../../client/index.ts');
  return (await listAll(nodes)).items.map(({ metadata }) => metadata?.name ?? '').toSorted();
}
