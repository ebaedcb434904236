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

describe('what kubectl knows of an authority that is gone', () => {
  it('is removed, and the rest stays as it was', async () => {
    await writeFile(path, merged(merged(foreign, 'berth', dataOf('old', 'ours')), 'anna', dataOf('new')));
    expect(await forgetAuthority(path, pem('ours') + pem('new'))).toEqual(['berth', 'anna']);
    expect(await read()).toBe(foreign.replace('current-context: big', 'current-context: ""'));
    expect(await readdir(folder)).toEqual(['config']);
  });

  it('leaves a user that another context has, and a current context of another cluster', async () => {
    const text = merged(foreign, 'berth', dataOf('ours')).replace('user: joe }', 'user: berth }');
    await writeFile(path, text.replace('current-context: berth', 'current-context: big'));
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['berth']);
    const { clusters, contexts, users, 'current-context': current } = parse(await read());
    const names = [clusters, contexts, users].map((list: { name: string }[]) => list.map(({ name }) => name));
    expect([names, current]).toEqual([[['big'], ['big'], ['joe', 'berth']], 'big']);
  });

  it('is removed where an alias of YAML stands for it', async () => {
    const cluster = `{ server: "https://a:1", certificate-authority-data: ${dataOf('ours')} }`;
    await writeFile(path, `ours: &ours { name: berth, cluster: ${cluster} }\nclusters: [*ours]\ncontexts: []\nusers: []\n`);
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['berth']);
    expect(parse(await read())).toMatchObject({ clusters: [], contexts: [], users: [] });
  });

  it('is told of a context that was renamed, and of a cluster without any', async () => {
    await writeFile(path, merged('', 'berth', dataOf('ours')).replace(/- name: berth\n( +)context/, '- name: mine\n$1context'));
    expect(await forgetAuthority(path, pem('ours'))).toEqual(['mine', 'berth']);
    expect(parse(await read())).toMatchObject({ clusters: [], contexts: [], users: [] });
  });

  it('is nothing where there is no file, and in a file of others, which is not written', async () => {
    expect(await forgetAuthority(path, pem('ours'))).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(path, foreign);
    // Nothing could be written now.
    await mkdir(`${path}.lock`);
    expect(await forgetAuthority(path, pem('ours'))).toEqual([]);
    expect(await read()).toBe(foreign);
  });

  it('is not looked for in a file that is no kubeconfig', async () => {
    await writeFile(path, 'kind: Pod\n');
    await expect(forgetAuthority(path, pem('ours'))).rejects.toThrow('it is a Pod, not a Config');
  });
});
