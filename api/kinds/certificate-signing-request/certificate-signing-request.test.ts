import { describe, expect, it } from 'vitest';
import type { CertificateSigningRequest } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';
import { certificateApproval, isApproved } from './approval.ts';

const kind = kindNamed('CertificateSigningRequest');
const pem = (label: string) => Buffer.from(`-----BEGIN ${label}-----\nMIH=\n-----END ${label}-----\n`);
type Spec = NonNullable<CertificateSigningRequest['spec']>;
const made = (spec: Partial<Spec> = {}, status?: CertificateSigningRequest['status']): CertificateSigningRequest => ({
  metadata: { name: 'r' },
  spec: { request: pem('CERTIFICATE REQUEST'), signerName: 'example.com/s', usages: ['client auth'], ...spec },
  ...(status && { status }),
});
const fields = (violations: readonly { readonly field: string }[]) => violations.map(({ field }) => field);
const condition = (type: string) => ({ type, status: 'True' });
const with_ = (...types: string[]) => made({}, { conditions: types.map(condition) });

describe('a request for a certificate', () => {
  it.each<[string, Partial<Spec>, string[]]>([
    ['as it should be', {}, []],
    ['of no request', { request: Buffer.alloc(0) }, ['spec.request']],
    ['of a certificate', { request: pem('CERTIFICATE') }, ['spec.request']],
    ['of two', { request: Buffer.concat([pem('CERTIFICATE REQUEST'), pem('CERTIFICATE REQUEST')]) }, ['spec.request']],
    ['without a signer', { signerName: '' }, ['spec.signerName']],
    ['with the signer of v1beta1', { signerName: 'kubernetes.io/legacy-unknown' }, ['spec.signerName']],
    ['with a signer that is no path', { signerName: 'me' }, ['spec.signerName']],
    ['for nothing', { usages: [] }, ['spec.usages']],
    ['for what does not exist', { usages: ['fun'] }, ['spec.usages[0]']],
    ['for the same twice', { usages: ['any', 'any'] }, ['spec.usages[0]', 'spec.usages[1]'].slice(1)],
    ['for a minute', { expirationSeconds: 60 }, ['spec.expirationSeconds']],
  ])('is judged: %s', (_, spec, expected) => {
    expect(fields(kind.validate(made(spec)))).toEqual(expected);
  });

  it('asks for the same for good, as in Kubernetes, whatever an update says', () => {
    const next = made({ signerName: 'example.com/other', username: 'somebody' });
    kind.lifecycle?.prepareForUpdate?.(next, made());
    expect(next.spec).toEqual(made().spec);
  });

  it('is approved or denied once, through its subresource', () => {
    const through = (sent: CertificateSigningRequest, previous: CertificateSigningRequest) => {
      const next = certificateApproval.take(sent, previous);
      return {
        types: next.status?.conditions?.map(({ type }) => type),
        refused: fields(certificateApproval.validate(next, previous)),
      };
    };
    expect(through(with_('Approved'), made())).toEqual({ types: ['Approved'], refused: [] });
    expect(through(with_('Failed', 'Denied'), with_('Failed'))).toEqual({ types: ['Failed', 'Denied'], refused: [] });
    expect(through(with_('Denied'), with_('Failed')).refused).toEqual(['status.conditions']);
    expect(through(with_('Approved', 'Denied'), made()).refused).toEqual(['status.conditions[1].type']);
    expect(through(with_('Denied'), with_('Approved')).refused).toEqual(['status.conditions']);
    expect(through(made(), with_('Approved')).refused).toEqual(['status.conditions']);
    expect(through(with_('Issued', 'Approved'), made())).toEqual({ types: ['Issued', 'Approved'], refused: [] });
    expect(through(with_(''), made()).refused).toEqual(['status.conditions[0].type']);
    const untrue = made({}, { conditions: [{ type: 'Approved', status: 'False' }] });
    expect(through(untrue, made()).refused).toEqual(['status.conditions[0].status']);
    expect([isApproved(made()), isApproved(with_('Approved')), isApproved(with_('Denied'))]).toEqual([false, true, false]);
  });

  it('is not approved through its status, and keeps the certificate that it was given', () => {
    const refused = (next: CertificateSigningRequest, previous: CertificateSigningRequest) =>
      fields(kind.validateStatusUpdate?.(next, previous) ?? []);
    const issued = (label = 'CERTIFICATE', more = '') =>
      made({}, { certificate: Buffer.concat([pem(label), Buffer.from(more)]) });
    expect(refused(with_('Approved'), made())).toEqual(['status.conditions']);
    expect(refused(made(), with_('Failed'))).toEqual(['status.conditions']);
    expect(refused(with_('Issued'), made())).toEqual([]);
    expect(refused(issued(), made())).toEqual([]);
    expect(refused(issued('PRIVATE KEY'), made())).toEqual(['status.certificate']);
    expect(refused(issued('CERTIFICATE', '\n'), issued())).toEqual(['status.certificate']);
  });

  it('keeps its approval as it is when the status is updated, whatever is sent of it', () => {
    const told = { ...condition('Approved'), reason: 'AutoApproved', lastUpdateTime: { seconds: 7 } };
    const previous = made({}, { conditions: [told] });
    const next = with_('Approved', 'Issued');
    kind.lifecycle?.prepareForStatusUpdate?.(next, previous);
    expect(next.status?.conditions).toEqual([told, condition('Issued')]);
  });

  it('is given the times of conditions that leave them out; one that is there keeps that of its status', () => {
    const [now, before] = [{ seconds: 9 }, { seconds: 5 }];
    const previous = made({}, { conditions: [{ ...condition('Approved'), lastUpdateTime: before, lastTransitionTime: before }] });
    const next = made({}, { conditions: [condition('Approved'), { ...condition('Issued'), lastUpdateTime: before }] });
    kind.lifecycle?.stamp?.(next, previous, now);
    expect(next.status?.conditions).toEqual([
      { ...condition('Approved'), lastUpdateTime: now, lastTransitionTime: before },
      { ...condition('Issued'), lastUpdateTime: before, lastTransitionTime: now },
    ]);
    const changed = made({}, { conditions: [{ ...condition('Approved'), status: 'False' }] });
    kind.lifecycle?.stamp?.(changed, previous, now);
    expect(changed.status?.conditions?.[0]).toMatchObject({ status: 'False', lastTransitionTime: now });
  });

  it('shows what kubectl shows', () => {
    const request = made(
      { expirationSeconds: 86_400, username: 'anna' },
      { conditions: [condition('Approved')], certificate: pem('CERTIFICATE') },
    );
    const cells = kind.columns.map(({ name, cell }) => [name, cell(request, new Date())]);
    expect(cells.filter(([name]) => name !== 'AGE')).toEqual([
      ['NAME', 'r'],
      ['SIGNERNAME', 'example.com/s'],
      ['REQUESTOR', 'anna'],
      ['REQUESTEDDURATION', '24h'],
      ['CONDITION', 'Approved,Issued'],
    ]);
    expect(kind.columns.at(-1)?.cell(made(), new Date())).toBe('Pending');
    expect(kindOf('csr')).toBe(kind);
  });
});
