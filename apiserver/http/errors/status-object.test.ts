import { expect, it } from 'vitest';
import {
  ApiError,
  conflict,
  exhausted,
  internal,
  invalid,
  notFound,
  objectForbidden,
  required,
} from '../../../api/errors/index.ts';
import { invalidValue } from '../../../api/errors/violations.ts';
import { statusOf } from './status-object.ts';

const about = { group: 'apps', resource: 'deployments', name: 'web' };

it('names the subject of an error, and that of the request where an error has none', () => {
  const resourceOf = (kind: string) => (kind === 'Node' ? { group: '', resource: 'nodes' } : undefined);
  expect(statusOf(notFound({ kind: 'Node', name: 'n' }), { ...about, resourceOf }).message).toBe('nodes "n" not found');
  expect(statusOf(conflict({}, 'it is late'), about)).toMatchObject({
    message: 'Operation cannot be fulfilled on deployments.apps "web": it is late',
    details: { name: 'web', group: 'apps', kind: 'deployments' },
  });
});

it('says what is wrong with several fields once each', () => {
  const violations = [required('a'), invalidValue('b', 5, 'must be 6'), required('a')];
  const { message, details } = statusOf(invalid({ kind: 'Deployment', name: 'web' }, violations), about);
  expect(message).toBe('Deployment.apps "web" is invalid: [a: Required value, b: Invalid value: 5: must be 6]');
  expect(details?.causes).toHaveLength(3);
});

it("has Kubernetes' word for no path where an object is wrong as a whole", () => {
  const violation = { field: '', description: 'Invalid value: "null": not checked', reason: 'FieldValueInvalid' };
  const { message, details } = statusOf(invalid({ kind: 'Deployment', name: 'web' }, [violation]), about);
  expect(message).toBe('Deployment.apps "web" is invalid: <nil>: Invalid value: "null": not checked');
  expect(details?.causes).toEqual([
    { reason: 'FieldValueInvalid', message: 'Invalid value: "null": not checked', field: '<nil>' },
  ]);
});

it('gives reasons of Kubernetes alone: one of Berth is a cause', () => {
  const error = new ApiError('FAILED_PRECONDITION', 'RangeFull', 'no address is left');
  expect(statusOf(error)).toMatchObject({
    ...{ reason: 'Conflict', code: 409, message: 'no address is left' },
    details: { causes: [{ reason: 'RangeFull', message: 'no address is left' }] },
  });
});

it('shows a hundred causes at most', () => {
  const many = Array.from({ length: 300 }, (_, index) => required(`field${index}`));
  expect(statusOf(invalid({ kind: 'Pod', name: 'x' }, many)).details?.causes).toHaveLength(100);
});

it('says when to try again, in whole seconds', () => {
  expect(statusOf(exhausted('too many', 1_200))).toMatchObject({ code: 429, details: { retryAfterSeconds: 2 } });
  expect(statusOf(internal('oops'))).toMatchObject({ code: 500, message: 'Internal error occurred: oops' });
});

it.each([
  ['pods', { name: 'x', kind: 'pods' }],
  ['deployments.apps', { name: 'x', group: 'apps', kind: 'deployments' }],
  ['leases.coordination.k8s.io', { name: 'x', group: 'coordination.k8s.io', kind: 'leases' }],
])('a refusal of what an object of %s says names it, though the request does not', (resource, details) => {
  const message = `${resource} "x" is forbidden: it is too large`;
  const status = statusOf(objectForbidden(resource, 'x', 'it is too large'), { resource: 'pods', group: '' });
  expect(status).toMatchObject({ code: 403, reason: 'Forbidden', message, details });
  expect(status.details).toEqual(details);
});
