import { describe, expect, it } from 'vitest';
import type { APIService } from '../../api/generated/types.ts';
import { customService, decideLocal, type LocalService, lacksLocalStatus } from './local-groups.ts';

const custom = customService('example.com', 'v1');
const own: LocalService = {
  managed: 'onstart',
  spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
};
const stored = (label: string | undefined, spec: APIService['spec']): APIService => ({
  metadata: { name: 'x', ...(label && { labels: { 'kube-aggregator.kubernetes.io/automanaged': label } }) },
  spec,
});
const remote = (spec: APIService['spec']): APIService['spec'] => ({ ...spec, service: { namespace: 'a', name: 'b', port: 443 } });

describe('the object of a group', () => {
  it.each<[string, APIService | undefined, LocalService | undefined, boolean, ReturnType<typeof decideLocal>]>([
    ['is created when it is missing', undefined, own, false, 'create'],
    ['is nothing for a group that is not served', undefined, undefined, true, 'nothing'],
    ['stays as the server made it', stored('onstart', own.spec), own, false, 'nothing'],
    ['is restored when it leads elsewhere', stored('onstart', remote(own.spec)), own, false, 'restore'],
    ['is restored without its label', stored(undefined, own.spec), own, false, 'restore'],
    ['is restored with the label of custom kinds', stored('true', own.spec), own, false, 'restore'],
    ['is restored with other priorities', stored('onstart', { ...own.spec, versionPriority: 2 }), own, false, 'restore'],
    ['of custom kinds is restored when it leads elsewhere', stored('true', remote(custom.spec)), custom, false, 'restore'],
    ["of custom kinds stays its user's without the label", stored(undefined, remote(custom.spec)), custom, false, 'nothing'],
    ['goes with the custom kinds', stored('true', custom.spec), undefined, false, 'remove'],
    ['of the program stays while the server runs', stored('onstart', own.spec), undefined, false, 'nothing'],
    ['of a program before goes at the start', stored('onstart', own.spec), undefined, true, 'remove'],
    ['of a user stays', stored(undefined, remote(custom.spec)), undefined, true, 'nothing'],
  ])('%s', (_title, object, wanted, isStart, expected) => expect(decideLocal(object, wanted, isStart)).toBe(expected));

  it('lacks its status when that says anything but that it is local, unless a Service has it', () => {
    const available = (status: string, reason: string) => ({ conditions: [{ type: 'Available', status, reason }] });
    expect(lacksLocalStatus(stored('true', custom.spec))).toBe(true);
    expect(lacksLocalStatus({ ...stored('true', custom.spec), status: available('False', 'Local') })).toBe(true);
    expect(lacksLocalStatus({ ...stored('true', custom.spec), status: available('True', 'Local') })).toBe(false);
    expect(lacksLocalStatus(stored(undefined, remote(custom.spec)))).toBe(false);
  });
});
