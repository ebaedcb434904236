import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// Kinds that Berth stores and does not act on, as a user meets them: manifests as Kubernetes' documentation has them.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const ingressClass = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: nginx-example
  annotations:
    ingressclass.kubernetes.io/is-default-class: "true"
spec:
  controller: k8s.io/ingress-nginx
`;
const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: name-virtual-host-ingress
spec:
  rules:
  - host: first.bar.com
    http:
      paths:
      - pathType: Prefix
        path: "/"
        backend:
          service:
            name: service1
            port:
              number: 80
`;
const flowSchema = `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata:
  name: health-for-strangers
spec:
  matchingPrecedence: 1000
  priorityLevelConfiguration:
    name: exempt
  rules:
    - nonResourceRules:
      - nonResourceURLs:
          - "/healthz"
          - "/livez"
          - "/readyz"
        verbs:
          - "*"
      subjects:
        - kind: Group
          group:
            name: "system:unauthenticated"
`;
const csiDriver = `apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: mydriver.example.com}
spec: {attachRequired: true, podInfoOnMount: true, fsGroupPolicy: File}
`;

async function applied(name: string, text: string) {
  const path = join(cli.folder, name);
  await writeFile(path, text);
  return await cli.berth('apply', '-f', path);
}
const shown = async (...words: string[]): Promise<string> => (await cli.berth(...words)).out;

it('stores an Ingress of the default class, and says that Berth does not act on it', async () => {
  expect((await applied('class.yaml', ingressClass)).out).toBe('ingressclass.networking.k8s.io/nginx-example created\n');
  const said = await applied('ingress.yaml', ingress);
  expect(said).toMatchObject({ code: 0, out: 'ingress.networking.k8s.io/name-virtual-host-ingress created\n' });
  expect(said.err).toMatch(/^Warning: [^\n]*spec is not acted on: Berth has no ingress controller/i);
  expect(await shown('get', 'ing', '--no-headers')).toMatch(
    /^name-virtual-host-ingress +nginx-example +first\.bar\.com +<none> +80 +\S+\n$/,
  );
  const described = await shown('describe', 'ing', 'name-virtual-host-ingress');
  expect(described).toMatch(/ first\.bar\.com\n +\/ +service1:80 \(<error: services "service1" not found>\)\n/);
  expect((await applied('ingress.yaml', ingress)).out).toContain(' unchanged\n');
});

it('makes an Ingress of flags', async () => {
  const made = await cli.berth('create', 'ing', 'shop', '--class=nginx-example', '--rule=shop.io/a*=web:http,tls=cert');
  expect(made).toMatchObject({ code: 0, out: 'ingress.networking.k8s.io/shop created\n' });
  expect(await shown('get', 'ing', 'shop', '--no-headers')).toMatch(/^shop +nginx-example +shop\.io +<none> +80, 443 /);
});

it('shows the status that an ingress controller writes', async () => {
  const key = { namespace: 'default', name: 'name-virtual-host-ingress' };
  const object = await server.client.ingresses.get(key);
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } };
  await server.client.ingresses.updateStatus({ ...object, status });
  expect(await shown('get', 'ingress', key.name, '--no-headers')).toMatch(/ 192\.0\.2\.7 +80 /);
});

it('refuses wrong objects with the path of the field', async () => {
  const said = await applied('bad.yaml', ingress.replace('pathType: Prefix', 'pathType: Regex'));
  expect(said.code).toBe(1);
  expect(said.err).toContain('spec.rules[0].http.paths[0].pathType');
});

it.each([
  [
    'FlowSchema',
    flowSchema,
    'flowschema.flowcontrol.apiserver.k8s.io/health-for-strangers',
    /^\S+ +exempt +1000 +<none> +\S+ +\?\n$/,
  ],
  [
    'CSIDriver',
    csiDriver,
    'csidriver.storage.k8s.io/mydriver.example.com',
    /^\S+ +true +true +false +<unset> +false +Persistent /,
  ],
])('stores an object of kind %s with a warning, and shows its columns', async (kind, manifest, name, row) => {
  const said = await applied(`${kind}.yaml`, manifest);
  expect(said).toMatchObject({ code: 0, out: `${name} created\n` });
  expect(said.err).toContain('spec is not acted on: ');
  expect(await shown('get', name.replace(/\..*\//, '/'), '--no-headers')).toMatch(row);
});

const schemas = 'flowschemas.flowcontrol.apiserver.k8s.io';
const levels = 'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io';

it('has the flow schemas and priority levels of every cluster', async () => {
  expect(await shown('get', 'flowschemas', 'exempt', 'catch-all', '--no-headers')).toMatch(
    /^exempt +exempt +1 +<none> +\S+ +\?\ncatch-all +catch-all +10000 +ByUser +\S+ +\?\n$/,
  );
  expect(await shown('get', 'prioritylevelconfigurations', '--no-headers')).toMatch(
    /^catch-all +Limited +5 +<none> +<none> +<none> +\S+\nexempt +Exempt +0 +<none> +<none> +<none> +\S+\n$/,
  );
});

it.each([
  [
    'flowschema/exempt',
    '{"spec":{"matchingPrecedence":7}}',
    / is invalid: spec: invalid value {"priority.*: the spec of "exempt" is fixed/,
  ],
  ['flowschema/catch-all', '{"spec":{"rules":[]}}', /spec: .*the spec of "catch-all" is fixed/],
  [
    'prioritylevelconfiguration/catch-all',
    '{"spec":{"limited":{"nominalConcurrencyShares":6}}}',
    /spec: .*the spec of "catch-all" is fixed/,
  ],
  [
    'prioritylevelconfiguration/exempt',
    '{"spec":{"type":"Limited","exempt":null,"limited":{"limitResponse":{"type":"Reject"}}}}',
    /spec: .*the spec of "exempt" except spec.exempt is fixed/,
  ],
])('refuses to change the spec of %s', async (name, patch, message) => {
  const said = await cli.berth('patch', name, '--type=merge', '-p', patch);
  expect(said.err).toMatch(message);
  expect(said.code).toBe(1);
});

it('changes the labels and the shares of the level "exempt", which stay', async () => {
  const patch = '{"metadata":{"labels":{"a":"b"}},"spec":{"exempt":{"nominalConcurrencyShares":9}}}';
  const said = await cli.berth('patch', 'prioritylevelconfiguration/exempt', '--type=merge', '-p', patch);
  expect(said).toMatchObject({ code: 0 });
  expect(said.err).toContain('spec is not acted on: ');
  // The server looks at what it keeps when it changes: at this, too.
  expect((await cli.berth('delete', 'prioritylevelconfiguration/catch-all')).code).toBe(0);
  await until('the level is there again', async () => (await shown('get', levels, '--no-headers')).split('\n').length === 3);
  expect(await shown('get', levels, 'exempt', '-o', 'jsonpath={.metadata.labels.a}{.spec.exempt.nominalConcurrencyShares}')).toBe(
    'b9',
  );
});

it('makes a deleted flow schema of its own anew, with another uid', async () => {
  const uid = async (): Promise<string> => await shown('get', schemas, 'catch-all', '-o', 'jsonpath={.metadata.uid}');
  const before = await uid();
  expect((await cli.berth('delete', 'flowschema/catch-all')).code).toBe(0);
  await until('the schema is there again', async () => !['', before].includes(await uid()));
});
