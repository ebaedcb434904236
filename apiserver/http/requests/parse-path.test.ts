import { describe, expect, it } from 'vitest';
import { parsePath } from './parse-path.ts';

const none = { namespace: '', name: '', subresource: '', rest: '' };

describe('a path of a resource', () => {
  it.each([
    ['/api/v1/pods', { group: '', version: 'v1', resource: 'pods' }],
    ['/api/v1/namespaces/default/pods', { group: '', version: 'v1', namespace: 'default', resource: 'pods' }],
    ['/api/v1/namespaces', { group: '', version: 'v1', resource: 'namespaces' }],
    ['/api/v1/namespaces/default', { group: '', version: 'v1', resource: 'namespaces', name: 'default' }],
    ['/api/v1/namespaces/a/finalize', { group: '', version: 'v1', resource: 'namespaces', name: 'a', subresource: 'finalize' }],
    [
      '/apis/apps/v1/namespaces/a/deployments/web/scale',
      { group: 'apps', version: 'v1', namespace: 'a', resource: 'deployments', name: 'web', subresource: 'scale' },
    ],
    [
      '/api/v1/namespaces/a/services/web:80/proxy/x/y',
      { group: '', version: 'v1', namespace: 'a', resource: 'services', name: 'web:80', subresource: 'proxy', rest: 'x/y' },
    ],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', name: 'system:node' },
    ],
    ['/api/v1/pods/', { group: '', version: 'v1', resource: 'pods' }],
  ])('%s', (path, target) => {
    expect(parsePath(path)).toEqual({ of: 'resource', target: { ...none, ...target } });
  });
});

it.each(['/', '/api', '/api/v1', '/api/v1/', '/apis', '/apis/apps', '/apis/apps/v1', '/apis/apps/v1/', '/version', '/healthz'])(
  '%s names no resource',
  (path) => {
    expect(parsePath(path)).toEqual({ of: 'path', path });
  },
);

it.each([
  ['/api/v1/pods/%zz', 'BadRequest'],
  ['/api/v1/namespaces//pods', 'NotFound'],
  ['/api/v1/pods//log', 'NotFound'],
])('%s is refused', (path, reason) => {
  expect(() => parsePath(path)).toThrow(expect.objectContaining({ reason }));
});
