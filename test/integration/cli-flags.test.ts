import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Words as users of kubectl type them, in this process, against a real API server: no node runs anything.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  await server.client.namespaces.create({ metadata: { name: 'other' } });
  for (const namespace of ['default', 'other'])
    await server.client.configMaps.create({ metadata: { namespace, name: `in-${namespace}`, labels: { app: 'x' } } });
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

describe('flags in the forms of pflag', () => {
  it.each([
    ['get cm -n=other -o=name -l=app=x', 'configmap/in-other\n'],
    ['get cm -nother -oname', 'configmap/in-other\n'],
    ['-n=other get cm -o=name', 'configmap/in-other\n'],
    ['get cm in-default -o=jsonpath={.metadata.name}', 'in-default'],
    ['get cm -A=false -l app=x -oname', 'configmap/in-default\n'],
    ['get cm -Aoname --all-namespaces=true -l=app=x', 'configmap/in-default\nconfigmap/in-other\n'],
    ['get cm in-other -n=default --ignore-not-found=true', ''],
  ])('berth %s', async (words, out) => {
    const said = await cli.berth(...words.split(' '));
    expect(said).toMatchObject({ code: 0, out, err: '' });
  });

  it('patches and deletes in the namespace that is meant', async () => {
    expect((await cli.berth('patch', 'cm/in-other', '-n=other', '-p={"data":{"a":"b"}}')).code).toBe(0);
    expect((await server.client.configMaps.get({ namespace: 'other', name: 'in-other' })).data).toEqual({ a: 'b' });
    expect((await cli.berth('delete', 'cm', '-n=other', '-l=app=x')).out).toContain('in-other');
    expect((await server.client.configMaps.get({ namespace: 'default', name: 'in-default' })).metadata?.name).toBe('in-default');
  });

  it.each([
    ['get cm -n Other', /namespace's name must consist of lower case letters/],
    ['get cm -n ==other', /namespace's name must consist of/],
    ['get cm --ignore-not-found=perhaps', /invalid value "perhaps" for --ignore-not-found: it must be true or false/],
  ])('refuses berth %s', async (words, err) => {
    const said = await cli.berth(...words.split(' '));
    expect(said.code).toBe(1);
    expect(said.err).toMatch(err);
  });
});
