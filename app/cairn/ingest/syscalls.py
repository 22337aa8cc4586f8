"""Calls of the Linux kernel that who reads a stranger's file has no business with, by number on x86-64 and on arm64.

None: this processor has no such call. box.py refuses them; what is not listed stays allowed, since parsers, Python and Tesseract
may need anything that only computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Numbers = tuple[int | None, int | None]

NETWORK: Final[Mapping[str, Numbers]] = {
    "socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "connect": (42, 203), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),  # can do all of these
}  # fmt: skip

FILES: Final[Mapping[str, Numbers]] = {
    "creat": (85, None), "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "link": (86, None), "linkat": (265, 37), "unlink": (87, None), "unlinkat": (263, 35), "symlink": (88, None),
    "symlinkat": (266, 36), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "mknod": (133, None), "mknodat": (259, 33),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
}  # fmt: skip
"""Changes of files. Opening one to write is refused by its flags."""

OTHER_PROCESSES: Final[Mapping[str, Numbers]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
"""Memory, signals and shares of other processes of the same user, such as the server. Of kill and tgkill the target decides."""

KERNEL: Final[Mapping[str, Numbers]] = {
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "syslog": (103, 116), "quotactl": (179, 60), "vhangup": (153, 58), "iopl": (172, None), "ioperm": (173, None),
    "personality": (135, 92),
}  # fmt: skip

REFUSED: Final = {**NETWORK, **FILES, **OTHER_PROCESSES, **KERNEL}

PROGRAMS: Final[Mapping[str, Numbers]] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
}  # fmt: skip
"""Refused where no program is needed."""

UNKNOWN: Final[Mapping[str, Numbers]] = {"clone3": (435, 435), "openat2": (437, 437)}
"""Their arguments cannot be looked into. Told that the kernel has none, libc uses those that can."""

OPEN: Final[Numbers] = (2, None)
OPENAT: Final[Numbers] = (257, 56)
CLONE: Final[Numbers] = (56, 220)
KILL: Final[Numbers] = (62, 129)
TGKILL: Final[Numbers] = (234, 131)
PRLIMIT: Final[Numbers] = (302, 261)
