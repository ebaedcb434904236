import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import { createLines } from './lines.ts';

const services: JsonObject[] = [
  { metadata: { name: 'web' }, spec: { ports: [{ port: 80, name: 'http' }] } },
  { metadata: { name: 'api' }, spec: { ports: [{ port: 443, name: 'tls' }] } },
];
const sliceOf = (service: string, address: string, port: JsonObject): JsonObject => ({
  metadata: { labels: { 'kubernetes.io/service-name': service } },
  endpoints: [{ addresses: [address] }],
  ports: [port],
});
const slices = [
  sliceOf('web', '10.42.0.5', { name: 'http', port: 8080 }),
  sliceOf('api', '10.42.0.6', { name: 'tls', port: 8443 }),
];

async function described(kind: string, object: JsonObject): Promise<string> {
  const list = async (of: string) => ({ metadata: {}, items: of === 'Service' ? services : slices });
  const session = { client: { objects: { list } } } as unknown as Session;
  const lines = createLines();
  (await describerOf(kind)(object, { session, now: new Date(0), logTails: { read: async () => [] } }))(lines);
  return lines.text();
}
const backendOf = (name: string, port: JsonObject): JsonObject => ({ service: { name, port } });

it('an Ingress shows its rules and the endpoints behind them, as kubectl does', async () => {
  const paths = [
    { path: '/', pathType: 'Prefix', backend: backendOf('web', { number: 80 }) },
    { path: '/api', pathType: 'Exact', backend: backendOf('api', { name: 'tls' }) },
    { path: '/gone', pathType: 'Exact', backend: backendOf('gone', { number: 80 }) },
    { path: '/odd', pathType: 'Exact', backend: backendOf('web', { number: 81 }) },
  ];
  const spec: JsonObject = {
    ingressClassName: 'nginx',
    tls: [{ secretName: 'cert', hosts: ['a.io', 'b.io'] }, { hosts: ['c.io'] }],
    rules: [{ host: 'a.io', http: { paths } }, { http: { paths: [{ backend: { resource: { kind: 'Bucket', name: 'x' } } }] } }],
  };
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } };
  expect(await described('Ingress', { metadata: { name: 'web', namespace: 'shop' }, spec, status })).toBe(`Name:             web
Namespace:        shop
Labels:           <none>
Annotations:      <none>
Address:          192.0.2.7
Ingress Class:    nginx
Default backend:  <default>
TLS:
  cert terminates a.io,b.io
  SNI routes c.io
Rules:
  Host  Path   Backends
  ----  ----   --------
  a.io
        /      web:80 (10.42.0.5:8080)
        /api   api:tls (10.42.0.6:8443)
        /gone  gone:80 (<error: services "gone" not found>)
        /odd   web:81 ()
  *
        /      APIGroup: <none>, Kind: Bucket, Name: x
`);
});

it('an Ingress without rules shows its default backend', async () => {
  const spec = { defaultBackend: backendOf('web', { name: 'http' }) };
  const text = await described('Ingress', { metadata: { name: 'web', namespace: 'shop' }, spec });
  expect(text).toMatch(/Default backend: +web:http \(10\.42\.0\.5:8080\)\n/);
  expect(text).toMatch(/ \* +\* +web:http \(10\.42\.0\.5:8080\)\n$/);
});

it('an IngressClass shows its controller and parameters', async () => {
  const parameters = { kind: 'ConfigMap', name: 'c', scope: 'Namespace', namespace: 'shop' };
  const object = { metadata: { name: 'nginx' }, spec: { controller: 'example.com/a', parameters } };
  const text = await described('IngressClass', object);
  expect(text).toMatch(
    /Controller: +example\.com\/a\nParameters:\n +Kind: +ConfigMap\n +Scope: +Namespace\n +Namespace: +shop\n/,
  );
  expect(await described('IngressClass', { ...object, spec: { controller: 'example.com/a' } })).not.toContain('Parameters');
});
