import { describe, expect, it } from 'vitest';
import { fromJson } from '../../codec/json.ts';
import type { APIService } from '../../generated/types.ts';
import type { JsonObject } from '../../meta/merge-patch.ts';
import { apiService } from './kind.ts';

const good = { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15 };
const service = { namespace: 'shop', name: 'api' };
const bundle = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString('base64');

function objectOf(spec: JsonObject, name = 'v1.example.com'): APIService {
  const { apiVersion, kind } = apiService;
  const object = fromJson(apiService, { apiVersion, kind, metadata: { name }, spec }) as APIService;
  apiService.defaults(object);
  return object;
}

describe('an APIService', () => {
  it.each<[string, JsonObject, string[]]>([
    ['no Service', good, []],
    ['a Service', { ...good, service, caBundle: bundle }, []],
    ['a Service that is not checked', { ...good, service, insecureSkipTLSVerify: true }, []],
    ['another version than its name', { ...good, version: 'v2' }, ['metadata.name']],
    ['no version', { ...good, version: '' }, ['metadata.name', 'spec.version']],
    ['a version that is none', { ...good, version: 'V1' }, ['metadata.name', 'spec.version']],
    ['no group', { ...good, version: 'v2', group: '' }, ['metadata.name', 'spec.group']],
    ['a group that is none', { ...good, group: 'Example' }, ['metadata.name', 'spec.group']],
    ['no priorities', { group: 'example.com', version: 'v1' }, ['spec.groupPriorityMinimum', 'spec.versionPriority']],
    [
      'priorities that are too high',
      { ...good, groupPriorityMinimum: 20_001, versionPriority: 1_001 },
      ['spec.groupPriorityMinimum', 'spec.versionPriority'],
    ],
    [
      'what only a Service has',
      { ...good, caBundle: bundle, insecureSkipTLSVerify: true },
      ['spec.caBundle', 'spec.insecureSkipTLSVerify'],
    ],
    ['half a Service', { ...good, service: {} }, ['spec.service.namespace', 'spec.service.name']],
    ['a port that is none', { ...good, service: { ...service, port: 65_536 } }, ['spec.service.port']],
    [
      'a bundle that is not checked',
      { ...good, service, insecureSkipTLSVerify: true, caBundle: bundle },
      ['spec.insecureSkipTLSVerify'],
    ],
    ['a bundle that is none', { ...good, service, caBundle: 'aGFsbG8=' }, ['spec.caBundle']],
  ])('is judged when it has %s', (_title, spec, expected) =>
    expect(apiService.validate(objectOf(spec)).map(({ field }) => field)).toEqual(expected),
  );

  it('is the core group under the name "v1."', () => {
    expect(apiService.validate(objectOf({ ...good, group: '' }, 'v1.'))).toEqual([]);
  });

  it('reaches its Service at port 443 when it names none', () => {
    expect(objectOf({ ...good, service }).spec?.service).toEqual({ ...service, port: 443 });
  });

  it('is available at once when the server itself serves it, and not when a Service does', () => {
    const [local, remote] = [objectOf(good), objectOf({ ...good, service })];
    for (const object of [local, remote]) apiService.lifecycle?.prepareForCreate?.(object);
    expect(local.status?.conditions).toEqual([expect.objectContaining({ type: 'Available', status: 'True', reason: 'Local' })]);
    expect(remote.status).toBeUndefined();
  });

  it('takes no status of a condition but True, False and Unknown', () => {
    const status = { conditions: [{ type: 'Available', status: 'Maybe' }] };
    const object = { ...objectOf(good), status } as APIService;
    expect(apiService.validateStatusUpdate?.(object, objectOf(good)).map(({ field }) => field)).toEqual([
      'status.conditions[0].status',
    ]);
  });

  it.each([
    [good, undefined, ['Local', 'Unknown']],
    [good, { type: 'Available', status: 'True', reason: 'Local' }, ['Local', 'True']],
    [
      { ...good, service },
      { type: 'Available', status: 'False', reason: 'MissingEndpoints' },
      ['shop/api', 'False (MissingEndpoints)'],
    ],
    [{ ...good, service }, { type: 'Available', status: 'Unknown' }, ['shop/api', 'Unknown']],
  ])('shows its Service and its state as kubectl does (%#)', (spec, condition, expected) => {
    const object = { ...objectOf(spec), status: { conditions: condition ? [condition] : [] } } as APIService;
    const cells = apiService.columns.slice(1, 3).map((column) => column.cell(object, new Date(0)));
    expect(cells).toEqual(expected);
  });
});
