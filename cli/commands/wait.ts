import { type Command, Option } from 'commander';
import { toJson } from '../../api/codec/json.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { parseDuration } from '../duration.ts';
import { ExitWith } from '../failure.ts';
import { parseResourceArguments } from '../resource-args.ts';
import { withSession } from '../session.ts';
import { waitForObject } from '../wait.ts';

interface WaitFlags {
  readonly for: string;
  readonly timeout: string;
}

export function registerWait(program: Command): void {
  program
    .command('wait')
    .description('Wait until objects are in a state: --for=condition=Ready, --for=delete')
    .argument('<type...>', 'TYPE NAME... or TYPE/NAME...')
    .addOption(new Option('--for <state>', 'condition=TYPE[=STATUS], or delete').makeOptionMandatory())
    .option('--timeout <duration>', 'give up after this long', '30s')
    .action(async (words: string[], flags: WaitFlags, command: Command) => {
      const isWanted = parseState(flags.for);
      const signal = AbortSignal.timeout(parseDuration(flags.timeout));
      await withSession(command, async (session) => {
        for (const { kind, names } of parseResourceArguments(words)) {
          if (names.length === 0) throw badRequest(`name the ${kind.plural} to wait for`);
          for (const name of names) {
            const key = { name, namespace: kind.namespaced ? session.namespace : undefined };
            const met = await waitForObject(session.client.resource(kind), key, (object) => isWanted(kind, object), signal);
            if (!met)
              throw new ExitWith(1, `timed out after ${flags.timeout} waiting for ${flags.for} on ${kind.singular}/${name}`);
            process.stdout.write(`${kind.singular}/${name} ${flags.for === 'delete' ? 'deleted' : 'condition met'}\n`);
          }
        }
      });
    });
}

/** Reads what `--for` says: a predicate on an object, which is undefined while it does not exist. */
export function parseState(text: string): (kind: Kind, object: ApiObject | undefined) => boolean {
  if (text === 'delete') return (_kind, object) => object === undefined;
  const match = /^condition=([^=]+)(?:=(.+))?$/.exec(text);
  if (!match) throw badRequest(`--for takes "condition=TYPE", "condition=TYPE=STATUS" or "delete", not "${text}"`);
  const [, type = '', status = 'True'] = match;
  return (kind, object) => {
    if (object === undefined) return false;
    const json = toJson(kind, object) as { status?: { conditions?: { type?: string; status?: string }[] } };
    const condition = json.status?.conditions?.find((each) => each.type?.toLowerCase() === type.toLowerCase());
    return condition?.status?.toLowerCase() === status.toLowerCase();
  };
}
