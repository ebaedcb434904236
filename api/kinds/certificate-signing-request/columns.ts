import type { CertificateSigningRequest } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const certificateSigningRequestColumns: readonly Column<CertificateSigningRequest>[] = [
  nameColumn,
  ageColumn,
  textColumn('SIGNERNAME', ({ spec }) => spec?.signerName ?? ''),
  textColumn('REQUESTOR', ({ spec }) => spec?.username ?? ''),
  textColumn('REQUESTEDDURATION', ({ spec }) => duration(spec?.expirationSeconds)),
  textColumn('CONDITION', condition),
];

function condition({ status }: CertificateSigningRequest): string {
  const types = (status?.conditions ?? []).map(({ type }) => type);
  const decided = ['Approved', 'Denied', 'Failed'].filter((type) => types.includes(type));
  return [...(decided.length > 0 ? decided : ['Pending']), ...(status?.certificate?.length ? ['Issued'] : [])].join(',');
}

/** In the largest unit that shows it to the minute. */
function duration(seconds: number | undefined): string {
  if (seconds === undefined) return '<none>';
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600), Math.floor(seconds / 60)];
  return days > 2 ? `${days}d` : hours > 2 ? `${hours}h` : `${minutes}m`;
}
