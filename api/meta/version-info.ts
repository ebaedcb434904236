import { isJsonObject, type Json } from './merge-patch.ts';

/** A program and what it runs on, as Kubernetes' version.Info has it. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  /** "v0.1.0". */
  readonly gitVersion: string;
  readonly nodeVersion: string;
  /** "linux/amd64". */
  readonly platform: string;
  /**
   * Of a server: where it serves Kubernetes' HTTP API, HOST:PORT, at its listen address and then at the advertised one;
   * empty while it does not. Absent: it is older.
   */
  readonly kubernetesAddresses?: readonly string[] | undefined;
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Of this process, which is Berth of that version: "0.1.0". */
export function versionInfo(version: string): VersionInfo {
  const [major = '', minor = ''] = version.split('.');
  const { arch, platform, version: nodeVersion } = process;
  return { major, minor, gitVersion: `v${version}`, nodeVersion, platform: `${platform}/${architectures[arch] ?? arch}` };
}

/**
 * Reads what another program says of itself; undefined for what is no such thing. Fields that it does not know stay.
 */
export function readVersionInfo(text: string): VersionInfo | undefined {
  try {
    const value = JSON.parse(text) as Json;
    const names = ['major', 'minor', 'gitVersion'] as const;
    return isJsonObject(value) && names.every((name) => typeof value[name] === 'string')
      ? (value as unknown as VersionInfo)
      : undefined;
  } catch {
    return undefined;
  }
}
