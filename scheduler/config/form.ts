import { JsonReader } from '../../api/codec/json-reader.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { mostWeight } from '../profile.ts';
import { anything, list, record, refine, required, type Shape, text, type ValueOf, whole, word } from './shape.ts';

/** Names with which pods ask for a scheduler: any word. */
const schedulerName = refine(text(), (name) =>
  /^[^\s/]{1,253}$/.test(name) ? undefined : 'must be a word of at most 253 characters, without "/"',
);

/**
 * An invalid value stays as it is written: its problem is reported,
 * and the values around it are still checked.
 */
function asWritten<T>(shape: Shape<T>): Shape<T> {
  return { read: (value, at) => shape.read(value, at) ?? (value as T) };
}

const points =
  'a plugin is in a profile with all that it does: name it in plugins.enabled or plugins.disabled (weight 0 turns off its score alone)';

/** What Kubernetes has there and Berth does not: where to look instead. */
const pointHints = Object.fromEntries(
  ['multiPoint', 'preEnqueue', 'queueSort', 'preFilter', 'filter', 'postFilter', 'preScore', 'score'] //
    .concat(['reserve', 'permit', 'preBind', 'bind', 'postBind'])
    .map((name) => [name, points]),
);

const profile = record(
  {
    schedulerName: asWritten(schedulerName),
    plugins: record(
      {
        enabled: list(record({ name: required(text()), weight: asWritten(whole(0, mostWeight)) })),
        disabled: list(record({ name: required(text()) }, { weight: 'a plugin that is disabled has no weight' })),
      },
      pointHints,
    ),
    pluginConfig: list(record({ name: required(text()), args: anything })),
  },
  { percentageOfNodesToScore: 'every node is looked at' },
);

/** A configuration file, before it is known which plugins there are. */
export const configurationForm = record(
  {
    apiVersion: required(asWritten(word('scheduler.berth.io/v1'))),
    kind: required(asWritten(word('SchedulerConfiguration'))),
    pluginModules: list(text()),
    profiles: required(refine(list(profile), (profiles) => (profiles.length > 0 ? undefined : 'must have at least one profile'))),
  },
  {
    percentageOfNodesToScore: 'every node is looked at',
    extenders: 'there are no extenders; write a plugin, and name its module in pluginModules',
    clientConnection: 'flags say where the API server is',
    leaderElection: 'flags of berth scheduler say it, such as --no-leader-elect',
    parallelism: 'deciding needs no other threads',
  },
);

/** The parts of a configuration that can be judged further, each where it stands. */
export interface ReadableParts {
  readonly pluginModules: readonly (string | undefined)[];
  readonly profiles: readonly (ProfileForm | undefined)[];
}

/** What can be used of a configuration that is not as it should be; what is wrong with the rest has been told. */
export function readableParts(value: unknown): ReadableParts {
  const { pluginModules, profiles } = isJsonObject(value) ? value : {};
  const quiet = new JsonReader();
  return {
    // Something else than a list may stand for any modules.
    pluginModules: listOf(pluginModules ?? [], [undefined]).map((each) => text().read(each, quiet)),
    profiles: listOf(profiles, []).map((each) => profile.read(each, quiet)),
  };
}

const listOf = (value: unknown, otherwise: readonly unknown[]): readonly unknown[] => (Array.isArray(value) ? value : otherwise);

export type ConfigurationForm = ValueOf<typeof configurationForm>;
export type ProfileForm = ConfigurationForm['profiles'][number];
