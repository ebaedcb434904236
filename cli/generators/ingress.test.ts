import { expect, it } from 'vitest';
import { ingressObject } from './ingress.ts';

const backend = (name: string, port: number | string) => ({
  service: { name, port: typeof port === 'number' ? { number: port } : { name: port } },
});

it('makes rules by hosts, with the secrets of their hosts', () => {
  const rule = ['a.io/=web:80,tls=one', 'a.io/shop*=shop:http,tls=two', '*.b.io/x/=x:1,tls=one', '/all*=all:2', 'c.io/=c:3,tls'];
  expect(ingressObject('web', { rule, class: 'nginx', annotation: ['a/b=c=d'], defaultBackend: 'rest:8080' })).toEqual({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', annotations: { 'a/b': 'c=d' } },
    spec: {
      ingressClassName: 'nginx',
      defaultBackend: backend('rest', 8080),
      tls: [{ hosts: ['a.io', '*.b.io'], secretName: 'one' }, { hosts: ['c.io'] }],
      rules: [
        {
          host: 'a.io',
          http: {
            paths: [
              { path: '/', pathType: 'Exact', backend: backend('web', 80) },
              { path: '/shop', pathType: 'Prefix', backend: backend('shop', 'http') },
            ],
          },
        },
        { host: '*.b.io', http: { paths: [{ path: '/x/', pathType: 'Exact', backend: backend('x', 1) }] } },
        { http: { paths: [{ path: '/all', pathType: 'Prefix', backend: backend('all', 2) }] } },
        { host: 'c.io', http: { paths: [{ path: '/', pathType: 'Exact', backend: backend('c', 3) }] } },
      ],
    },
  });
  expect(ingressObject('rest', { defaultBackend: 'rest:http' })).toMatchObject({
    spec: { defaultBackend: backend('rest', 'http') },
  });
  // A certificate of no host.
  expect(ingressObject('any', { rule: ['/=a:1,tls=one'] })).toMatchObject({ spec: { tls: [{ secretName: 'one' }] } });
  expect(ingressObject('any', { rule: ['/=a:1,tls'] }).spec).not.toHaveProperty('tls');
});

it.each([
  ['nothing', {}, 'say what it leads to: --rule'],
  ['no path', { rule: ['a.io=web:80'] }, '--rule takes HOST/PATH=SERVICE:PORT'],
  ['no service', { rule: ['a.io/'] }, '--rule takes HOST/PATH=SERVICE:PORT'],
  ['no port', { rule: ['a.io/=web'] }, '--rule "a.io/=web": a backend is SERVICE:PORT'],
  ['another word', { rule: ['a.io/=web:80,ssl'] }, '[,tls[=SECRET]]'],
  ['more words', { rule: ['a.io/=web:80,tls,tls'] }, '[,tls[=SECRET]]'],
  ['a backend of three', { defaultBackend: 'a:b:c' }, '--default-backend: a backend is SERVICE:PORT'],
  ['no value', { rule: ['/=a:1'], annotation: ['a'] }, '--annotation takes KEY=VALUE, not "a"'],
])('refuses %s', (_what, flags, message) => {
  expect(() => ingressObject('web', flags)).toThrow(message);
});
