import type { Command } from 'commander';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../client/index.ts';
import { parseObjectArgument } from '../args/resource-args.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import { ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { templateOf } from '../workload/pod-spec.ts';
import { type EnvChange, envFrom, envPatch, parseEnv, splitEnv, withPrefix } from './env.ts';
import { listEnv } from './list-env.ts';
import { checkSetFlags, ofPodSpec, type SetFlags, type Setting, setAll, setLocally } from './run-set.ts';

export interface SetEnvFlags extends SetFlags {
  readonly containers: string;
  readonly env?: readonly string[];
  readonly from?: string;
  readonly keys?: readonly string[];
  readonly prefix?: string;
  readonly list?: boolean;
  readonly resolve?: boolean;
  readonly overwrite?: boolean;
}

/** `set env`: changes the variables of containers, or lists them as they would be. */
export async function setEnv(command: Command, words: readonly string[], flags: SetEnvFlags): Promise<void> {
  const { objects, changes } = splitEnv(words);
  checkFlags(objects, flags);
  const given = [...(flags.env ?? []), ...changes];
  const change = parseEnv(given, given.includes('-') ? await readInput() : '');
  if (given.length === 0 && flags.from === undefined && !flags.list)
    throw badRequest('at least one environment variable must be provided: KEY=VALUE, KEY- or --from');
  const run = (whole: EnvChange, session?: Session) => new EnvRun(flags, whole, session);
  if (flags.local) {
    const local = run(prefixed(change, flags));
    await setLocally(flags, local.setting);
    return local.end();
  }
  await withSession(command, async (session) => {
    const imported = flags.from === undefined ? [] : await readSource(session, flags.from, flags.keys ?? []);
    const remote = run(prefixed({ ...change, set: [...change.set, ...imported] }, flags), session);
    await setAll(session, objects, flags, remote.setting);
    remote.end();
  });
}

function checkFlags(objects: readonly string[], flags: SetEnvFlags): void {
  checkSetFlags(objects, flags);
  if (flags.list && flags.output !== undefined) throw badRequest('--list and --output may not be specified together');
  if (flags.resolve && !flags.list) throw badRequest('--resolve shows values, with --list');
  if (flags.keys && flags.from === undefined)
    throw badRequest('when specifying --keys, a configmap or secret must be provided with --from');
  if (flags.local && (flags.from !== undefined || flags.resolve))
    throw badRequest('--local asks no server, which --from and --resolve read from');
}

const prefixed = (change: EnvChange, { prefix }: SetEnvFlags): EnvChange => (prefix ? withPrefix(change, prefix) : change);

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Variables for the keys of a ConfigMap or Secret. Throws INVALID_ARGUMENT for anything else. */
async function readSource({ client, namespace }: Session, word: string, keys: readonly string[]): Promise<JsonObject[]> {
  const { kind, name } = parseObjectArgument(word, 'configmap');
  if (kind.kind !== 'ConfigMap' && kind.kind !== 'Secret')
    throw badRequest(`--from takes configmap/NAME or secret/NAME, not "${word}"`);
  const object = await client.objects.get(kindWord(kind), { namespace, name });
  const known = Object.keys(tree(object, 'data'));
  return envFrom({ kind: kind.kind as 'ConfigMap' | 'Secret', name, keys: known }, keys);
}

/** One change of the variables of any number of objects, or the list of them. */
class EnvRun {
  readonly #flags: SetEnvFlags;
  readonly #change: EnvChange;
  readonly #session: Session | undefined;
  #unresolved = 0;

  constructor(flags: SetEnvFlags, change: EnvChange, session: Session | undefined) {
    this.#flags = flags;
    this.#change = change;
    this.#session = session;
  }

  get setting(): Setting {
    const changed = ofPodSpec('env updated', (podSpec, of) => this.#patch(podSpec, of));
    if (!this.#flags.list) return changed;
    return {
      patch: async (kind: Kind, object: JsonObject): Promise<undefined> => {
        const patch = await changed.patch(kind, object);
        await this.#list(kind, patch ? strategicMerge(kind.message, object, patch) : object);
      },
    };
  }

  /** Throws when values could not be looked up. */
  end(): void {
    if (this.#unresolved > 0) throw new ExitWith(1, 'failed to retrieve valueFrom references');
  }

  #patch(podSpec: Tree, { kind, object }: { readonly kind: Kind; readonly object: JsonObject }): JsonObject | undefined {
    const { containers: pattern, overwrite = true } = this.#flags;
    const patch = envPatch(podSpec, this.#change, { pattern, overwrite });
    if (!patch) {
      const name = text(object, 'metadata', 'name');
      process.stderr.write(`warning: ${kind.kind}/${name} does not have any containers matching "${pattern}"\n`);
    }
    return patch;
  }

  async #list(kind: Kind, object: JsonObject): Promise<void> {
    const title = `${kind.kind} ${text(object, 'metadata', 'name')}`;
    const namespace = text(object, 'metadata', 'namespace') || this.#session?.namespace || 'default';
    const client = this.#flags.resolve ? this.#session?.client : undefined;
    const podSpec = (templateOf(kind, object).spec ?? {}) as Tree;
    const { lines, failures } = await listEnv(podSpec, { title, pattern: this.#flags.containers }, { object, namespace, client });
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    for (const failure of failures) process.stderr.write(`${failure}\n`);
    this.#unresolved += failures.length;
  }
}
