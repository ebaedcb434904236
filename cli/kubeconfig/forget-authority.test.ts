import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { forgetAuthority } from './forget-authority.ts';
import { mergeKubeconfig } from './merge-kubeconfig.ts';

const pem = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;
const dataOf = (...texts: string[]): string => Buffer.from(texts.map(pem).join('')).toString('base64');

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-kubeconfig-'));
  path = join(folder, 'config');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const foreign = `# my clusters
apiVersion: v1
kind: Config
clusters:
# the big one
- cluster:
    certificate-authority-data: ${dataOf('other')}
    server: https://1.2.3.4:6443 # there
  name: big
contexts:
- context: { cluster: big, user: joe }
  name: big
current-context: big
users:
- name: joe
  user: { token: "no" }
`;
const merged = (text: string, name: string, data: string): string => {
  const cluster = { server: `https://${name}:6443`, 'certificate-authority-data': data };
  return mergeKubeconfig(text, { name, cluster, user: { token: name } }, { path, use: true });
};
const read = () => readFile(path, 'utf8');

describe('forgetting an authority', () => {
  it('removes the contexts of its clusters with their users, and leaves all else as it was', async () => {
    await writeFile(path, merged(merged(foreign, 'berth', dataOf('old', 'ours')), 'anna', dataOf('new')));
    expect(await forgetAuthority(path, pem('ours') + pem('new'))).toEqual(['context "berth"', 'context "anna"']);
    expect(await read()).toBe(foreign.replace('current-context: big', 'current-context: ""'));
    expect(await readdir(folder)).toEqual(['config']);
  });

  it('keeps a user that another context has, and a current context of another cluster', async () => {
    const text = merged(foreign, 'berth', dataOf('ours')).replace('user: joe }', 'user: berth }');
    await writeFile(path, text.replace('current-context: berth', 'current-context: big'));
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['context "berth"']);
    const { clusters, contexts, users, 'current-context': current } = parse(await read());
    const names = [clusters, contexts, users].map((list: { name: string }[]) => list.map(({ name }) => name));
    expect([names, current]).toEqual([[['big'], ['big'], ['joe', 'berth']], 'big']);
  });

  it('removes a cluster that stands in its list as an alias of YAML', async () => {
    const cluster = `{ server: "https://a:1", certificate-authority-data: ${dataOf('ours')} }`;
    await writeFile(path, `ours: &ours { name: berth, cluster: ${cluster} }\nclusters: [*ours]\ncontexts: []\nusers: []\n`);
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['cluster "berth"']);
    expect(parse(await read())).toMatchObject({ clusters: [], contexts: [], users: [] });
  });

  it('removes a context that was renamed, with its cluster', async () => {
    await writeFile(path, merged('', 'berth', dataOf('ours')).replace(/- name: berth\n( +)context/, '- name: mine\n$1context'));
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['context "mine"', 'cluster "berth"']);
    expect(parse(await read())).toMatchObject({ clusters: [], contexts: [], users: [] });
  });

  it('makes no file, and writes none without a cluster of the authority', async () => {
    expect(await forgetAuthority(path, pem('ours'))).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(path, foreign);
    // Nothing could be written now.
    await mkdir(`${path}.lock`);
    expect(await forgetAuthority(path, pem('ours'))).toEqual([]);
    expect(await read()).toBe(foreign);
  });

  it('refuses a file that is no kubeconfig', async () => {
    await writeFile(path, 'kind: Pod\n');
    await expect(forgetAuthority(path, pem('ours'))).rejects.toThrow('it is a Pod, not a Config');
  });
});
