import { mostWeight } from '../profile.ts';
import { anything, list, record, refine, required, text, type ValueOf, whole, word } from './shape.ts';

/** Names with which pods ask for a scheduler: any word. */
const schedulerName = refine(text(), (name) =>
  /^[^\s/]{1,253}$/.test(name) ? undefined : 'must be a word of at most 253 characters, without "/"',
);

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
    schedulerName,
    plugins: record(
      {
        enabled: list(record({ name: required(text()), weight: whole(0, mostWeight) })),
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
    apiVersion: required(word('scheduler.berth.io/v1')),
    kind: required(word('SchedulerConfiguration')),
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

export type ConfigurationForm = ValueOf<typeof configurationForm>;
export type ProfileForm = ConfigurationForm['profiles'][number];
