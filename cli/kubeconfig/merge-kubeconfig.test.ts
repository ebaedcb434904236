import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type KubeconfigEntry, mergeKubeconfig } from './merge-kubeconfig.ts';

const entry: KubeconfigEntry = {
  name: 'berth',
  cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': 'Q0E=' },
  user: { 'client-certificate-data': 'Q1JU', 'client-key-data': 'S0VZ' },
};
const path = '/home/joe/.kube/config';
const merge = (text: string, changed: Partial<KubeconfigEntry> = {}, use = true): string =>
  mergeKubeconfig(text, { ...entry, ...changed }, { path, use });

const foreign = `# my clusters
apiVersion: v1
kind: Config
preferences: {}
clusters:
# the big one
- cluster:
    insecure-skip-tls-verify: true
    server: https://1.2.3.4:6443 # there
  name: big
contexts:
- context: { cluster: big, user: joe }
  name: big
current-context: big
users:
- name: joe
  user:
    password: "no"
    username: 'joe'
`;

describe('a kubeconfig with the entry merged in', () => {
  it('is a whole one where there was none', () => {
    expect(parse(merge(''))).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'berth', cluster: entry.cluster }],
      users: [{ name: 'berth', user: entry.user }],
      contexts: [{ name: 'berth', context: { cluster: 'berth', user: 'berth' } }],
      'current-context': 'berth',
    });
    expect(merge('# nothing yet\n')).toMatch(/^# nothing yet\n/);
  });

  it('keeps the lines of other entries, their comments and their order, and adds its own behind', () => {
    const inner = (name: string, fields: object): string =>
      `- name: berth\n  ${name}:\n${Object.entries(fields)
        .map(([key, value]) => `    ${key}: ${value}\n`)
        .join('')}`;
    expect(merge(foreign)).toBe(
      foreign
        .replace('contexts:\n', `${inner('cluster', entry.cluster)}contexts:\n`)
        .replace('current-context: big\n', `${inner('context', { cluster: 'berth', user: 'berth' })}current-context: berth\n`) +
        inner('user', entry.user),
    );
  });

  it('leaves the context in use as it was where it is told to', () => {
    expect(merge(foreign, {}, false)).toContain('current-context: big\n');
    expect(merge('', {}, false)).not.toContain('current-context');
  });

  it('is the same when it is merged again, and has one entry with the newest credentials', () => {
    const once = merge(foreign);
    expect(merge(once)).toBe(once);
    const user = { token: 'T' };
    const value = parse(merge(once, { user }));
    expect(value.users).toEqual([expect.objectContaining({ name: 'joe' }), { name: 'berth', user }]);
    expect(value.clusters).toHaveLength(2);
  });

  it('keeps what a user added to its entry, but no other way to authenticate or to trust', () => {
    const changed = merge('')
      .replace('      server:', '      insecure-skip-tls-verify: true\n      proxy-url: http://proxy # ours\n      server:')
      .replace('      client-key-data', '      exec: { command: aws }\n      client-key-data')
      .replace('      user: berth\n', '      user: berth\n      namespace: team\n');
    const text = merge(changed);
    const value = parse(text);
    expect(value.clusters[0].cluster).toEqual({ ...entry.cluster, 'proxy-url': 'http://proxy' });
    expect(text).toContain('proxy-url: http://proxy # ours');
    expect(value.users[0].user).toEqual(entry.user);
    expect(value.contexts[0].context.namespace).toBe('team');
    expect(parse(merge(changed, { namespace: 'other' })).contexts[0].context.namespace).toBe('other');
  });

  it('quotes names that are words of YAML for kubectl', () => {
    expect(merge('', { name: 'no' })).toContain('name: "no"');
    expect(merge('', { name: '0644' })).toContain('name: "0644"');
  });

  it.each([
    ['JSON', JSON.stringify(parse(foreign))],
    ['lists that say null', 'kind: Config\nclusters:\nusers: null\ncontexts: []\n'],
    ['an entry by an anchor', `${foreign}x-more: &b\n  name: berth\n`.replace('clusters:\n', 'clusters:\n- &c {name: other}\n')],
  ])('is read and written where it has %s', (_title, text) => {
    const [before, after] = [parse(text), parse(merge(text))];
    expect(after.clusters).toEqual([...(before.clusters ?? []), { name: 'berth', cluster: entry.cluster }]);
    expect(after.contexts.at(-1)).toEqual({ name: 'berth', context: { cluster: 'berth', user: 'berth' } });
  });
});

describe('a file that cannot be merged into', () => {
  it.each([
    ['is no YAML', 'clusters: [', /line 1, column \d+/],
    ['is a list', '- a', /it must be a mapping/],
    ['is another kind', 'kind: Pod\napiVersion: v1\n', /it is a Pod, not a Config/],
    ['has clusters that are no list', 'clusters: {a: b}', /clusters must be a list/],
    ['has a user that is a text', 'users: [a]', /users\[0\] must be a mapping/],
    ['has a context without a name', 'contexts: [{context: {}}]', /contexts\[0\]\.name must be a text/],
    ['has a cluster that is a text', 'clusters: [{name: a, cluster: b}]', /clusters\[0\]\.cluster must be a mapping/],
    ['has two documents', 'kind: Config\n---\nkind: Config\n', /second document/],
    ['has a key twice', 'users: []\nusers: []\n', /the field stands here twice/],
    ['is nested deeply', `clusters: ${'['.repeat(1_000)}`, /nested more than 128 levels deep/],
    ['is nested less deeply', `clusters: ${'['.repeat(150)}`, /nested more than 128 levels deep/],
  ])('is refused when it %s', (_title, text, reason) => {
    expect(() => merge(text)).toThrow(reason);
    expect(() => merge(text)).toThrow(`${path} is no kubeconfig that can be merged into: `);
  });

  it('is refused when its entry of that name is of another cluster, or used by a context of one', () => {
    const other = merge('', { cluster: { server: 'https://far:6443', 'certificate-authority-data': 'RkFS' } });
    expect(() => merge(other)).toThrow(
      `${path} has a context "berth" of another cluster (https://far:6443); nothing was changed: give another name with --name`,
    );
    const shared = foreign.replace('user: joe }', 'user: berth }');
    expect(() => merge(shared)).toThrow(
      'has a context "big" that uses the entry "berth" of another cluster (https://1.2.3.4:6443)',
    );
    expect(merge(other, { name: 'near' })).toContain('current-context: near');
  });

  it('is taken over when only the authority or only the address is another', () => {
    expect(merge(merge('', { cluster: { ...entry.cluster, server: 'https://127.0.0.1:1' } }))).toBe(merge(''));
    expect(merge(merge('', { cluster: { ...entry.cluster, 'certificate-authority-data': 'T0xE' } }))).toBe(merge(''));
  });
});
