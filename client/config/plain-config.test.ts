import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../api/codec/yaml-settings.ts';
import { printConfig } from './config-file.ts';
import { readPlainConfig } from './plain-config.ts';

const data = Buffer.from('-----BEGIN CERTIFICATE-----\n'.repeat(40)).toString('base64');
const file = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'a',
      cluster: {
        server: 'https://127.0.0.1:7443',
        'certificate-authority-data': data,
        'berth-socket': '/var/lib/berth/run/api-127.0.0.1:7443.sock',
      },
    },
    { name: 'far', cluster: { server: 'https://[2001:db8::1]', 'certificate-authority-data': data } },
  ],
  users: [
    { name: 'a', user: { 'client-certificate-data': data, 'client-key-data': `${data}==` } },
    { name: 'far', user: { token: 'eyJhbGci.eyJpc3M_-.sig' } },
  ],
  contexts: [
    { name: 'a', context: { cluster: 'a', user: 'a' } },
    { name: 'far', context: { cluster: 'far', user: 'far', namespace: 'team-1' } },
  ],
  'current-context': 'far',
};

describe('a file in the form that Berth writes', () => {
  it('is read', async () => {
    expect(readPlainConfig(await printConfig(file))).toEqual(file);
  });

  it.each<[string, (written: string) => string]>([
    ['with a comment', (written) => `# mine\n${written}`],
    ['with a comment behind a text', (written) => written.replace('user: a\n', 'user: a # mine\n')],
    ['with quotes', (written) => written.replace('name: far', 'name: "far"')],
    ['with an anchor', (written) => written.replace('name: far', 'name: &far far')],
    ['with a space behind a text', (written) => written.replace('v1\n', 'v1 \n')],
    ['with the ends of lines of Windows', (written) => written.replaceAll('\n', '\r\n')],
    ['without its last end of a line', (written) => written.slice(0, -1)],
    ['with another indentation', (written) => written.replaceAll('      server', '       server')],
    ['with lists that are not indented', (written) => written.replaceAll(/^ {2}/gm, '')],
    ['with a text that goes on', (written) => written.replace('user: a\n', 'user: a\n        b\n')],
    ['with a mapping on one line', (written) => written.replace('server: https', 'server: b: https')],
    ['with a name that is a word of YAML', (written) => written.replace('name: far', 'name: No')],
    ['with a name that is a number', (written) => written.replace('name: far', 'name: 1e3')],
    ['with another field', (written) => `${written}preferences: none\n`],
    ['with a field that stands twice', (written) => `${written}current-context: a\n`],
    ['with a list that stands twice', (written) => `${written}users:\n  - name: b\n    user:\n      token: t\n`],
    ['with two tokens', (written) => written.replace('      token: ', '      token: t\n      token: ')],
    ['with two documents', (written) => `${written}---\n${written}`],
    ['without entries', (written) => written.replace(/^users:\n( .*\n)+/m, 'users: []\n')],
    ['with an entry that says nothing', (written) => written.replace(/^ {6}token.*\n/m, '')],
    ['that is empty', () => ''],
  ])('is left to a reader of YAML %s', async (_title, change) => {
    const written = await printConfig(file);
    expect(change(written)).not.toBe(written);
    expect(readPlainConfig(change(written))).toBeUndefined();
  });

  it('is read as YAML is, whatever the texts are', async () => {
    const name = fc.oneof(
      fc.constantFrom(
        'no',
        'Off',
        'y',
        'null',
        '~',
        '1e3',
        '0x1',
        'a:',
        'a: b',
        'a #b',
        '-',
        '- a',
        'a b',
        '[a]',
        'é',
        'infinity',
        'nan',
      ),
      fc.string({ minLength: 1 }),
      fc.base64String({ minLength: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(name, name, fc.boolean(), async (first, second, raw) => {
        const changed = { ...file, users: [{ name: first, user: { token: second } }], 'current-context': first };
        const quoted = await printConfig(changed);
        const text = raw ? (await printConfig(file)).replace('name: far', () => `name: ${first}`) : quoted;
        const plain = readPlainConfig(text);
        if (plain !== undefined) expect(plain).toEqual(readSettings(text));
      }),
      { numRuns: 500 },
    );
  });
});
