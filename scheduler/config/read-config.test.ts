import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { definePlugin } from '../framework/plugin.ts';
import { definePlugins, pluginFactory } from '../framework/plugin-module.ts';
import { makeProfile } from '../profile.ts';
import { readSchedulerConfig } from './read-config.ts';
import { record, required, whole } from './shape.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-scheduler-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'scheduler.yaml');

const spread = pluginFactory({
  name: 'RackSpread',
  weight: 4,
  args: record({ most: required(whole(1, 10)) }),
  create: ({ most }) => {
    if (most === 7) throw new Error('seven is unlucky');
    return definePlugin({ name: 'RackSpread', filter: () => undefined, score: (_, __, ___, scores) => void scores.fill(most) });
  },
});
const plain = (name: string, methods: object = { filter: () => undefined }) => ({
  name,
  create: () => ({ name, ...methods }) as never,
});
const modules: Record<string, Record<string, unknown>> = {
  racks: { default: definePlugins([spread]) },
  more: {
    default: definePlugins([
      plain('Plain'),
      plain('MyBinder', { bind: async () => 'bound' }),
      plain('MySort', { queueOrder: () => 0 }),
    ]),
  },
  thrower: {
    default: definePlugins([
      {
        name: 'X',
        args: { read: (value, at) => at.within('a', value, () => fail()) },
        create: () => ({ name: 'X', filter: () => undefined }),
      },
    ]),
  },
  same: { default: definePlugins([plain('Plain')]) },
  ours: { default: definePlugins([plain('NodeName')]) },
  empty: { default: definePlugins([]) },
  none: { somethingElse: 1 },
  newer: { default: { contract: 2, plugins: [spread] } },
  nameless: { default: { contract: 1, plugins: [{ create() {} }] } },
  createless: { default: { contract: 1, plugins: [{ name: 'X' }] } },
  named: { default: { contract: 1, plugins: [{ name: 'X', create: () => ({ name: 'Y', filter() {} }) }] } },
  typo: { default: { contract: 1, plugins: [{ name: 'X', create: () => ({ name: 'X', filters() {} }) }] } },
  alone: { default: { contract: 1, plugins: [{ name: 'X', create: () => ({ name: 'X', normalise() {} }) }] } },
  idle: { default: { contract: 1, plugins: [{ name: 'X', create: () => ({ name: 'X' }) }] } },
  late: { default: { contract: 1, plugins: [{ name: 'X', create: async () => ({ name: 'X', filter() {} }) }] } },
};

function fail(): never {
  throw new Error('lost');
}

async function load(specifier: string): Promise<Record<string, unknown>> {
  const found = modules[specifier];
  if (!found) throw new Error(`Cannot find package '${specifier}'`);
  return found;
}

const head = 'apiVersion: scheduler.berth.io/v1\nkind: SchedulerConfiguration\n';

function read(text: string) {
  writeFileSync(file, text);
  return readSchedulerConfig(file, load);
}

async function refusal(text: string): Promise<string> {
  const error = await read(text).then(
    () => undefined,
    (error: Error) => error,
  );
  return error?.message.replaceAll(`${file}:`, '') ?? 'accepted';
}

/** The plugins of each profile, with their weights where they have one. */
async function plugins(text: string): Promise<Record<string, string[]>> {
  const profiles = (await read(text)).map((plan) =>
    makeProfile(plan, { bind: { name: 'DefaultBinder', bind: async () => 'bound' } }),
  );
  const words = profiles.map(({ schedulerName, plugins }) => [
    schedulerName,
    plugins.map(({ plugin, weight }) => (weight === 0 ? plugin.name : `${plugin.name} ${weight}`)),
  ]);
  return Object.fromEntries(words);
}

const own = [
  'PrioritySort',
  'NodeName',
  'NodeUnschedulable',
  'NodeReady',
  'TaintToleration 3',
  'NodeAffinity 2',
  'NodePorts',
].concat([
  ...['VolumeBinding', 'NodeResourcesFit 1', 'NodeUsage 1', 'PodTopologySpread 2', 'InterPodAffinity 2'],
  ...['NodeResourcesBalanced 1', 'ImageLocality 1', 'DefaultPreemption', 'DefaultBinder'],
]);

describe('a configuration that is right', () => {
  it('has the usual plugins in a profile that says nothing of them', async () => {
    expect(await plugins(`${head}profiles: [{schedulerName: a}, {schedulerName: b}]`)).toEqual({ a: own, b: own });
  });

  it('names a single profile like the usual scheduler', async () => {
    expect(Object.keys(await plugins(`${head}profiles: [{plugins: {}}]`))).toEqual(['default-scheduler']);
  });

  it('takes plugins out, gives others another weight in their place, and puts what is new behind them', async () => {
    const text = `${head}pluginModules: [more]
profiles:
  - schedulerName: a
    plugins:
      disabled: [{name: ImageLocality}, {name: NodeUsage}]
      enabled: [{name: Plain}, {name: TaintToleration, weight: 9}, {name: NodeAffinity, weight: 0}, {name: NodeUsage}]
`;
    const kept = own.filter((name) => !/^(ImageLocality|NodeUsage)/.test(name));
    const weighed = kept.map((each) => each.replace('Toleration 3', 'Toleration 9').replace('NodeAffinity 2', 'NodeAffinity'));
    expect(await plugins(text)).toEqual({ a: [...weighed, 'Plain', 'NodeUsage 1'] });
  });

  it('has only what it names after all were taken out, in its order', async () => {
    const text = `${head}profiles:
  - plugins:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: PrioritySort}, {name: NodeName}, {name: DefaultBinder}]
`;
    expect(await plugins(text)).toEqual({
      'default-scheduler': ['NodeResourcesFit 5', 'PrioritySort', 'NodeName', 'DefaultBinder'],
    });
  });

  it('gives a plugin its arguments, and the weight that its module says', async () => {
    const text = `${head}pluginModules: [racks]
profiles:
  - plugins: {enabled: [{name: RackSpread}]}
    pluginConfig: [{name: RackSpread, args: {most: 3}}, {name: NodeUsage}]
`;
    const [plan] = await read(text);
    expect(plan!.plugins.find(({ factory }) => factory.name === 'RackSpread')?.args).toEqual({ most: 3 });
    expect((await plugins(text))['default-scheduler']).toContain('RackSpread 4');
  });

  it('takes all arguments that there are', async () => {
    const text = `${head}profiles:
  - pluginConfig:
      - name: NodeResourcesFit
        args:
          ignoredResources: [example.com/gpu]
          ignoredResourceGroups: [example.com]
          scoringStrategy:
            type: RequestedToCapacityRatio
            resources: [{name: cpu, weight: 3}, {name: memory}]
            requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
      - {name: NodeUsage, args: {staleAfterMs: 60000}}
      - {name: InterPodAffinity, args: {hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}}
      - name: PodTopologySpread
        args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}
`;
    expect(await refusal(text)).toBe('accepted');
  });
});

/** One profile with these lines, which begin on line 4 and column 5. */
const profile = (...lines: string[]) => `${head}profiles:\n  - ${lines.join('\n    ')}\n`;
const config = (name: string, args: string) => profile('pluginConfig:', `  - {name: ${name}, args: ${args}}`);
const enabling = (module: string, name: string) =>
  `${head}pluginModules: [${module}]\nprofiles: [{plugins: {enabled: [{name: ${name}}]}}]`;

describe('a configuration that is wrong', () => {
  it.each<[string, string, string | RegExp]>([
    ['is empty', '# nothing\n', '1:1: the file is empty'],
    ['is nested deeply', '['.repeat(100_000), '1:1: it is nested more than 128 levels deep'],
    ['is two documents', `${head}profiles: [{}]\n---\na: 1\n`, '5:1: a second document begins here; settings are one document'],
    ['is no YAML', `${head}profiles: [\n`, /^4:1: /],
    ['says a thing twice', `${head}kind: x\n`, '3:1: kind: the field stands here twice'],
    ['is a list', '[1]', '1:1: wrong type: expected an object, found a list'],
    [
      'does not say what it is',
      'profiles: [{}]',
      /has 2 problems:\n {2}1:1: apiVersion: is required\n {2}1:1: kind: is required$/,
    ],
    [
      "is Kubernetes'",
      'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{}]\n',
      /1:1: apiVersion: unknown value "kubescheduler.config.k8s.io\/v1"; there are scheduler.berth.io\/v1\n.*2:1: kind: unknown value/,
    ],
    ['has no profiles', head, '1:1: profiles: is required'],
    ['has an empty list of profiles', `${head}profiles: []`, '3:1: profiles: must have at least one profile'],
    [
      'has an unknown field',
      `${head}profile: []\nprofiles: [{}]`,
      '3:1: profile: unknown field; did you mean "profiles"? There are apiVersion, kind, pluginModules, profiles',
    ],
    [
      'has a field that only Kubernetes has',
      `${head}percentageOfNodesToScore: 5\nprofiles: [{}]`,
      /3:1: .*every node is looked at$/,
    ],
    [
      'has an unknown field in a profile',
      profile('schedulername: a'),
      '4:5: profiles[0].schedulername: unknown field; did you mean "schedulerName"? There are pluginConfig, plugins, schedulerName',
    ],
    [
      'names an extension point',
      profile('plugins:', '  score: {enabled: []}'),
      /^5:7: profiles\[0\].plugins.score: unknown field; a plugin is in/,
    ],
    [
      'has a number for a name',
      profile('schedulerName: 5'),
      '4:5: profiles[0].schedulerName: wrong type: expected a text, found number 5',
    ],
    ['has a name with a blank', profile('schedulerName: "a b"'), /^4:5: profiles\[0\].schedulerName: must be a word/],
    [
      'names two profiles alike',
      `${head}profiles:\n  - schedulerName: a\n  - schedulerName: a\n`,
      '5:5: profiles[1].schedulerName: "a" is the name of profiles[0] already',
    ],
    [
      'names one of two profiles not',
      `${head}profiles:\n  - schedulerName: a\n  - plugins: {}\n`,
      /^5:5: .*is required where there are several/,
    ],
    [
      'enables a plugin that there is not',
      profile('plugins:', '  enabled:', '    - name: NodeResourceFit'),
      /^6:11: profiles\[0\].plugins.enabled\[0\].name: unknown plugin "NodeResourceFit"; did you mean "NodeResourcesFit"\? There are DefaultBinder, /,
    ],
    [
      "enables a plugin by Kubernetes' name",
      profile('plugins: {enabled: [{name: NodeResourcesBalancedAllocation}]}'),
      /; here it is NodeResourcesBalanced$/,
    ],
    [
      'disables a plugin that there is not',
      profile('plugins: {disabled: [{name: Nobody}]}'),
      /disabled\[0\].name: unknown plugin "Nobody"; there are/,
    ],
    [
      'names a plugin twice',
      profile('plugins: {enabled: [{name: NodeName}, {name: NodeName}]}'),
      /enabled\[1\].name: "NodeName" stands here twice$/,
    ],
    ['names no plugin', profile('plugins: {enabled: [{weight: 1}]}'), '4:25: profiles[0].plugins.enabled[0].name: is required'],
    [
      'gives a negative weight',
      profile('plugins: {enabled: [{name: NodeAffinity, weight: -1}]}'),
      /weight: must be from 0 to 1000000, found -1$/,
    ],
    [
      'gives half a weight',
      profile('plugins: {enabled: [{name: NodeAffinity, weight: 1.5}]}'),
      /weight: must be a whole number, found 1.5$/,
    ],
    [
      'gives a word for a weight',
      profile('plugins: {enabled: [{name: NodeAffinity, weight: much}]}'),
      /weight: wrong type: expected a number/,
    ],
    [
      'gives a weight where there is no score',
      profile('plugins: {enabled: [{name: NodeName, weight: 2}]}'),
      /weight: NodeName scores nothing: leave it out$/,
    ],
    [
      'has nothing that orders the queue',
      profile('plugins: {disabled: [{name: PrioritySort}]}'),
      '4:5: profiles[0].plugins: no plugin orders the queue: enable PrioritySort',
    ],
    [
      'has nothing that binds',
      profile('plugins: {disabled: [{name: DefaultBinder}]}'),
      /plugins: no plugin binds pods: enable DefaultBinder$/,
    ],
    [
      'orders the queue twice',
      enabling('more', 'MySort'),
      /plugins: PrioritySort and MySort order the queue, and one must: disable the others$/,
    ],
    [
      'binds behind the plugin that binds all',
      enabling('more', 'MyBinder'),
      /MyBinder would never bind a pod, because DefaultBinder stands before/,
    ],
    [
      'orders the one queue in two ways',
      `${head}pluginModules: [more]
profiles:
  - schedulerName: a
  - schedulerName: b
    plugins: {disabled: [{name: PrioritySort}], enabled: [{name: MySort}]}
`,
      /^7:5: profiles\[1\].plugins: orders the queue in another way than the first profile: .* all profiles need PrioritySort/,
    ],
    ['gives arguments to a plugin that is not there', config('Nobody', '{}'), /pluginConfig\[0\].name: unknown plugin "Nobody"/],
    [
      'gives arguments to a plugin that it disables',
      profile('plugins: {disabled: [{name: NodeUsage}]}', 'pluginConfig: [{name: NodeUsage}]'),
      '5:21: profiles[0].pluginConfig[0].name: "NodeUsage" is not among the plugins of this profile',
    ],
    [
      'gives arguments twice',
      profile('pluginConfig: [{name: NodeUsage}, {name: NodeUsage}]'),
      /pluginConfig\[1\].name: "NodeUsage" stands here twice$/,
    ],
    [
      'gives arguments to a plugin that takes none',
      config('NodeName', '{a: 1}'),
      '5:26: profiles[0].pluginConfig[0].args: NodeName takes no arguments',
    ],
    [
      'gives an unknown argument',
      config('NodeUsage', '{staleAfter: 1}'),
      /^5:34: .*args.staleAfter: unknown field; did you mean "staleAfterMs"\? There are marginPercent, patienceMs, staleAfterMs$/,
    ],
    ['gives no arguments at all', config('NodeUsage', '[]'), /args: wrong type: expected an object, found a list$/],
    [
      'gives a module none that it needs',
      enabling('racks', 'RackSpread'),
      /enabled\[0\]: RackSpread needs arguments in pluginConfig: most is required$/,
    ],
  ])('is refused with the place and what to do: %s', async (_, text, message) => {
    const refused = await refusal(text);
    if (typeof message === 'string') expect(refused.trim()).toBe(message);
    else expect(refused.trim()).toMatch(message);
  });

  const strategy = (text: string) => config('NodeResourcesFit', `{scoringStrategy: ${text}}`);
  const ratio = (points: string) => strategy(`{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: ${points}}}`);
  it.each<[string, RegExp]>([
    [strategy('{type: MostAlocated}'), /scoringStrategy.type: unknown value "MostAlocated"; did you mean "MostAllocated"\?/],
    [ratio('[]'), /shape: must have at least one point$/],
    [ratio('[{utilization: 50, score: 1}, {utilization: 50, score: 2}]'), /shape: must be ordered by utilization/],
    [ratio('[{utilization: 101, score: 1}]'), /shape\[0\].utilization: must be from 0 to 100, found 101$/],
    [ratio('[{utilization: 0, score: 11}]'), /shape\[0\].score: must be from 0 to 10, found 11$/],
    [strategy('{type: RequestedToCapacityRatio}'), /scoringStrategy: with type RequestedToCapacityRatio needs/],
    [
      strategy('{requestedToCapacityRatio: {shape: [{utilization: 0, score: 1}]}}'),
      /with type LeastAllocated takes no requestedToCapacityRatio$/,
    ],
    [strategy('{resources: []}'), /resources: must name at least one resource/],
    [strategy('{resources: [{name: cpu, weight: 0}]}'), /resources\[0\].weight: must be from 1 to 100, found 0$/],
    [strategy('{resources: [{name: cpu}, {name: cpu}]}'), /resources: names "cpu" twice$/],
    [config('NodeResourcesFit', '{ignoredResources: [cpu]}'), /ignoredResources\[0\]: must be the name of an extended resource/],
    [
      config('NodeResourcesFit', '{ignoredResourceGroups: [a.com/b]}'),
      /ignoredResourceGroups\[0\]: must be the part before the slash/,
    ],
    [config('NodeUsage', '{staleAfterMs: 5}'), /staleAfterMs: must be from 1000 to 86400000, found 5$/],
    [config('InterPodAffinity', '{hardPodAffinityWeight: 101}'), /hardPodAffinityWeight: must be from 0 to 100, found 101$/],
    [config('InterPodAffinity', '{ignorePreferredTermsOfExistingPods: 1}'), /expected true or false, found number 1$/],
    [
      config('PodTopologySpread', '{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}'),
      /count only with defaultingType List$/,
    ],
    [
      config('PodTopologySpread', '{defaultConstraints: [{topologyKey: "a b", whenUnsatisfiable: Never}]}'),
      /has 3 problems:(\n.*){3}$/,
    ],
  ])('is refused for the arguments of a plugin: %s', async (text, message) => {
    expect(await refusal(text)).toMatch(message);
  });

  it.each<[string, RegExp]>([
    ['gone', /^3:17: pluginModules\[0\]: module "gone": Cannot find package 'gone'$/],
    ['none', /module "none": exports no plugins: its default export must be what definePlugins/],
    ['empty', /module "empty": exports no plugins: its list of plugins is empty/],
    ['newer', /module "newer": is written for contract 2 of "berth\/scheduler", and this Berth has contract 1/],
    ['nameless', /module "nameless": its plugin 1 has the name null/],
    ['createless', /module "createless": its plugin "X" has no function "create"$/],
    ['ours', /module "ours": its plugin "NodeName" has the name of one of Berth's own$/],
    ['more, same', /^3:23: pluginModules\[1\]: module "same": its plugin "Plain" has the name of one of module "more"$/],
  ])('is refused for the modules [%s]', async (names, message) => {
    expect((await refusal(`${head}pluginModules: [${names}]\nprofiles: [{}]`)).trim()).toMatch(message);
  });

  it.each<[string, RegExp]>([
    ['named', /enabled\[0\]: plugin "X" of module "named" cannot be made: create made a plugin with the name string "Y"$/],
    ['typo', /cannot be made: it has no method that is called filters; did you mean "filter"\?$/],
    ['alone', /cannot be made: its normalise would never be called: it has no score$/],
    ['idle', /cannot be made: it does nothing: it has none of queueOrder, /],
    ['late', /cannot be made: create made a plugin with the name nothing$/],
  ])('is refused for what the factory of a module makes: %s', async (name, message) => {
    expect(await refusal(enabling(name, 'X'))).toMatch(message);
  });

  it('says which plugin of which module does not like its arguments', async () => {
    const text = `${head}pluginModules: [racks]
profiles:
  - plugins: {enabled: [{name: RackSpread}]}
    pluginConfig: [{name: RackSpread, args: {most: 7}}]
`;
    const message = 'plugin "RackSpread" of module "racks" cannot be made: seven is unlucky';
    expect((await refusal(text)).trim()).toBe(`6:39: profiles[0].pluginConfig[0].args: ${message}`);
  });

  it('says where arguments stand whose form fails', async () => {
    const config = `profiles:\n  - plugins: {enabled: [{name: X}]}\n    pluginConfig: [{name: X, args: {b: 1}}]\n`;
    const refused = await refusal(`${head}pluginModules: [thrower]\n${config}`);
    expect(refused.trim()).toBe('6:30: profiles[0].pluginConfig[0].args: cannot be read: lost');
  });

  it('tells all that is wrong, in the order of the file', async () => {
    const text = `${head}profils: 1
profiles:
  - schedulerName: a
    plugins: {enabled: [{name: Nobody}]}
    pluginConfig: [{name: NodeUsage, args: {staleAfterMs: 1}}]
`;
    const lines = (await refusal(text)).split('\n');
    expect(lines[0]).toBe(" the scheduler's configuration has 3 problems:");
    expect(lines.slice(1).map((line) => line.trim().split(': ', 2).join(' '))).toEqual([
      '3:1 profils',
      '6:26 profiles[0].plugins.enabled[0].name',
      '7:45 profiles[0].pluginConfig[0].args.staleAfterMs',
    ]);
  });

  const places = async (text: string) =>
    (await refusal(text))
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replace(/^(\S+) (\S+): .*/, '$1 $2'));

  it('tells of modules, plugins and arguments together with what has not the right form', async () => {
    const text = `apiVersion: scheduler.berth.io/v9
kind: Configuration
pluginModules: [racks, empty]
profiles:
  - schedulerName: 5
    plugins: {enabled: [{name: NodeUsage, weight: heavy}], disabled: [{name: Colour}]}
    pluginConfig: [{name: NodeUsage, args: {staleAfterMs: 1}}]
  - plugins: [NodeName]
    pluginConfig: [{name: NodeUsage, args: {staleAfterMs: 1}}]
  - schedulerName: b
    pluginConfig: [{name: RackSpread, args: {most: 99}}, {name: NodeResourcesFit, args: {ignored: 1}}]
`;
    expect(await places(text)).toEqual([
      '1:1: apiVersion',
      '2:1: kind',
      '3:24: pluginModules[1]',
      '5:5: profiles[0].schedulerName',
      '6:43: profiles[0].plugins.enabled[0].weight',
      '7:45: profiles[0].pluginConfig[0].args.staleAfterMs',
      // Of what has not the form of a profile nothing more is said.
      '8:5: profiles[1].plugins',
      // Colour is not reported as unknown: it may be of the module that cannot be used.
      '11:21: profiles[2].pluginConfig[0].name',
      '11:90: profiles[2].pluginConfig[1].args.ignored',
    ]);
  });

  it('does not miss what a module that cannot be used may have', async () => {
    const text = `${head}pluginModules: [3]\nprofiles: [{plugins: {disabled: [{name: '*'}], enabled: [{name: Any}]}}]\n`;
    expect((await refusal(text)).trim()).toBe('3:17: pluginModules[0]: wrong type: expected a text, found number 3');
  });

  it('is refused when it is not there', async () => {
    await expect(readSchedulerConfig(join(folder, 'none.yaml'))).rejects.toThrow(
      /cannot read the scheduler's configuration .*there is no such file$/,
    );
    await expect(readSchedulerConfig(folder)).rejects.toThrow(/it is a folder$/);
  });
});
