import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { isLogLevel, logLevels } from '../../api/meta/log-level.ts';
import type { Client } from '../../client/index.ts';
import { plainTable } from '../printers/plain-table.ts';
import { describeFailure } from '../program/failure.ts';
import { withSession } from '../session.ts';

export function registerLogLevel(program: Command): void {
  program
    .command('log-level')
    .description('Show the log levels of server and agents, or change one until the next restart: log-level agent/NODE debug')
    .argument('[component]', 'server (with scheduler and controllers), or agent/NODE; without: all of them')
    .argument('[level]', `${logLevels.join(', ')}; without: show it`)
    .action(async (component: string | undefined, level: string | undefined, _flags: object, command: Command) => {
      const nodeName = component === undefined ? undefined : parseComponent(component);
      if (level !== undefined && !isLogLevel(level)) throw badRequest(`"${level}" is no log level: use ${logLevels.join(', ')}`);
      await withSession(command, async ({ client }) => {
        if (component === undefined) return void process.stdout.write(await printAll(client));
        const now = level === undefined ? await client.logLevels.get(nodeName) : await client.logLevels.set(nodeName, level);
        const until = level === undefined ? '' : ' until it starts again';
        process.stdout.write(`${component} logs at level ${now}${until}\n`);
      });
    });
}

/** Of an agent its node; of the server undefined. */
function parseComponent(text: string): string | undefined {
  if (text === 'server') return undefined;
  const [, name] = /^(?:agent|node)\/(.+)$/.exec(text) ?? [];
  if (!name) throw badRequest(`"${text}" is neither "server" nor "agent/NODE"`);
  return name;
}

/** One agent that cannot be reached must not hide the others. */
async function printAll(client: Client): Promise<string> {
  const { listAll } = await import('../../client/index.ts');
  const { items } = await listAll(client.nodes);
  const names = items.map((node) => node.metadata?.name ?? '');
  const answers = await Promise.allSettled([undefined, ...names].map((name) => client.logLevels.get(name)));
  const [first] = answers;
  // Not of one component: no permission, or no connection.
  if (first?.status === 'rejected' && answers.every((answer) => isSame(answer, first))) throw first.reason;
  const components = ['server', ...names.map((name) => `agent/${name}`)];
  return plainTable(
    ['COMPONENT', 'LEVEL'],
    components.map((component, i) => [component, levelIn(answers[i])]),
  );
}

type Answer = PromiseSettledResult<string>;

function isSame(answer: Answer, failure: PromiseRejectedResult): boolean {
  return answer.status === 'rejected' && describeFailure(answer.reason) === describeFailure(failure.reason);
}

function levelIn(answer: Answer | undefined): string {
  return answer?.status === 'fulfilled' ? answer.value : `unknown: ${describeFailure(answer?.reason)}`;
}
