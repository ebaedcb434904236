import { describe, expect, it } from 'vitest';
import { type UnitInput, unitText } from './systemd-unit.ts';

const base = { dataDir: '/var/lib/berth', environment: {}, version: '0.1.0', systemd: 252 };
const words = (name: string, ...more: string[]) => ['/usr/bin/node', '/usr/lib/node_modules/berth/bin/berth', name, ...more];
const server = (over: Partial<UnitInput> = {}): string =>
  unitText({
    ...base,
    name: 'server',
    words: words('server', '--listen', '127.0.0.1:7443'),
    paths: ['/usr/bin/node', '/var/lib/berth'],
    ...over,
  });
const agent = (over: Partial<UnitInput> = {}): string =>
  unitText({ ...base, name: 'agent', words: words('agent'), paths: ['/var/lib/berth'], ...over });

describe('the unit of the server', () => {
  it('is this', () => {
    expect(server()).toMatchInlineSnapshot(`
      "# Berth in /var/lib/berth: made by "berth install", removed by "berth uninstall".
      # Berth 0.1.0. What you change here is lost at the next "berth install": use "systemctl edit berth-server".
      [Unit]
      Description=Berth server: API, scheduler and controllers
      Wants=network-online.target
      After=network-online.target
      # It is started again for ever, not five times.
      StartLimitIntervalSec=0

      [Service]
      Type=exec
      ExecStart=/usr/bin/node /usr/lib/node_modules/berth/bin/berth server --listen 127.0.0.1:7443
      WorkingDirectory=/
      # For what you want to add, e.g. NODE_OPTIONS; it need not be there.
      EnvironmentFile=-/etc/default/berth
      Restart=always
      RestartSec=1
      # Asks the process to end, and kills what is left of it. Containers are the engine's, and go on running.
      KillMode=mixed
      TimeoutStopSec=20
      LimitNOFILE=1048576
      TasksMax=1024
      OOMScoreAdjust=-500
      UMask=0077

      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictRealtime=yes
      ProtectClock=yes
      SystemCallArchitectures=native
      SystemCallErrorNumber=EPERM
      # Sockets, and the kernel's list of addresses.
      RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
      SystemCallFilter=@system-service @pkey
      CapabilityBoundingSet=
      ProtectSystem=strict
      ReadWritePaths=/var/lib/berth
      ProtectHome=yes
      PrivateTmp=yes
      PrivateDevices=yes
      ProtectKernelTunables=yes
      ProtectKernelModules=yes
      ProtectKernelLogs=yes
      ProtectControlGroups=yes
      ProtectHostname=yes
      ProtectProc=invisible
      RestrictNamespaces=yes
      RestrictSUIDSGID=yes

      [Install]
      WantedBy=multi-user.target
      "
    `);
  });

  it('says no word that systemd would take for something else', () => {
    const text = server({ dataDir: '/srv/a b%c', words: words('server', '--data-dir', '/srv/a b%c', '--node-name', 'x"$y\\z') });
    expect(text).toContain('--data-dir "/srv/a b%%c" --node-name "x\\"$$y\\\\z"\n');
    expect(text).toContain('ReadWritePaths="/srv/a b%%c"\n');
  });

  it.each([
    [
      'a program in a home folder is read, and nothing else there',
      { paths: ['/root/.nvm/versions/node/bin/node'] },
      'ProtectHome=read-only',
    ],
    [
      'a program in a home folder may be its owner’s alone',
      { paths: ['/home/ann/berth'] },
      'CapabilityBoundingSet=CAP_DAC_READ_SEARCH\n',
    ],
    ['a folder that is only called like one is none', { paths: ['/homes/ann'] }, 'ProtectHome=yes'],
    [
      'a small port is a right',
      { words: words('server', '--listen', '0.0.0.0:443') },
      'CapabilityBoundingSet=CAP_NET_BIND_SERVICE\n',
    ],
    [
      'a small port for kubectl is a right, too',
      { words: words('server', '--listen', '0.0.0.0:7443', '--kubernetes-listen', '0.0.0.0:443') },
      'CapabilityBoundingSet=CAP_NET_BIND_SERVICE\n',
    ],
    ['a newer systemd backs off', { systemd: 254 }, 'RestartSteps=5\nRestartMaxDelaySec=30\n'],
  ] as const)('%s', (_, over, line) => {
    expect(server(over)).toContain(line);
  });

  it('keeps /tmp where its data are in there', () => {
    expect(server({ paths: ['/tmp/berth'] })).not.toContain('PrivateTmp');
  });
});

describe('the unit of the agent', () => {
  it('is this', () => {
    expect(agent({ environment: { DOCKER_HOST: 'unix:///run/my docker.sock' } })).toMatchInlineSnapshot(`
      "# Berth in /var/lib/berth: made by "berth install", removed by "berth uninstall".
      # Berth 0.1.0. What you change here is lost at the next "berth install": use "systemctl edit berth-agent".
      [Unit]
      Description=Berth agent: runs the pods of this node
      Wants=network-online.target docker.service
      After=network-online.target docker.service berth-server.service
      # It is started again for ever, not five times.
      StartLimitIntervalSec=0

      [Service]
      Type=exec
      ExecStart=/usr/bin/node /usr/lib/node_modules/berth/bin/berth agent
      WorkingDirectory=/
      # For what you want to add, e.g. NODE_OPTIONS; it need not be there.
      EnvironmentFile=-/etc/default/berth
      Environment="DOCKER_HOST=unix:///run/my docker.sock"
      Restart=always
      RestartSec=1
      # Asks the process to end, and kills what is left of it. Containers are the engine's, and go on running.
      KillMode=mixed
      TimeoutStopSec=20
      LimitNOFILE=1048576
      TasksMax=1024
      OOMScoreAdjust=-900
      UMask=0022

      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictRealtime=yes
      ProtectClock=yes
      SystemCallArchitectures=native
      SystemCallErrorNumber=EPERM
      # Sockets, and the kernel's list of addresses.
      RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
      SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
      CapabilityBoundingSet=~CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_BLOCK_SUSPEND CAP_BPF CAP_IPC_LOCK CAP_LEASE CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_SYSLOG CAP_SYS_BOOT CAP_SYS_MODULE CAP_SYS_PACCT CAP_SYS_RAWIO CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_WAKE_ALARM
      # No ProtectSystem, ProtectHome, PrivateTmp and the like: volumes that the agent mounts must be seen by the engine.

      [Install]
      WantedBy=multi-user.target
      "
    `);
  });

  it('has no view of the file system of its own, in which the engine would not see what it mounts', () => {
    const settings = agent()
      .split('\n')
      .filter((line) =>
        /^(Protect(?!Clock)|Private|ReadWrite|ReadOnly|Inaccessible|Bind|TemporaryFileSystem|MountFlags|RestrictNamespaces)/.test(
          line,
        ),
      );
    expect(settings).toEqual([]);
  });
});
