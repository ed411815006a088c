//! A small importer for both versions, with the same words for both. All `unsafe` code of these tests.

#![allow(unsafe_code, reason = "loads a shared library and calls C functions")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use cosimo_export::{Design, Variant, Version, built_library, write};
use libloading::Library;

/// Calls a function of the loaded library whose first argument is the instance.
macro_rules! c {
    ($fmu:expr, $name:literal $(, $argument:expr => $type:ty)*) => {{
        // SAFETY: the types are those of the standard's header; pointers outlive the call.
        unsafe {
            let name = concat!($name, "\0").as_bytes();
            let function = $fmu
                .library
                .get::<unsafe extern "C" fn(*mut c_void $(, $type)*) -> c_int>(name)
                .expect($name);
            function($fmu.instance $(, $argument)*)
        }
    }};
}

pub(crate) type Answers = Box<dyn Fn(f64) -> Vec<(u32, f64)>>;

/// What the importer's callbacks see.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) log: Vec<String>,
    /// Answers to an intermediate update: value references and values for an instant.
    pub(crate) answers: Option<Answers>,
    /// Time, set requested, get allowed, step finished, and an output then.
    pub(crate) updates: Vec<(f64, bool, bool, bool)>,
    pub(crate) seen: Vec<f64>,
    pub(crate) look_at: Option<u32>,
    pub(crate) instance: usize,
    pub(crate) library: Option<*const Library>,
}

pub(crate) struct Fmu {
    library: Box<Library>,
    instance: *mut c_void,
    pub(crate) version: Version,
    pub(crate) environment: Box<Environment>,
    references: BTreeMap<String, u32>,
    folder: PathBuf,
}

pub(crate) fn folder(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("cosimo-export-{}-{number}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

type Logger2 = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

/// Not variadic, because Rust cannot define such a function: on the platforms of these tests the sixth argument
/// arrives all the same.
unsafe extern "C" fn log2(
    environment: *mut c_void,
    _name: *const c_char,
    status: c_int,
    _category: *const c_char,
    format: *const c_char,
    value: *const c_char,
) {
    // SAFETY: the FMU gives back our environment, and texts that end with zero.
    let (environment, format, value) =
        unsafe { (&mut *environment.cast::<Environment>(), CStr::from_ptr(format), CStr::from_ptr(value)) };
    assert_eq!(format, c"%s");
    environment.log.push(format!("{status} {}", value.to_str().unwrap()));
}

unsafe extern "C" fn log3(
    environment: *mut c_void,
    status: c_int,
    _category: *const c_char,
    message: *const c_char,
) {
    // SAFETY: as above.
    let (environment, message) =
        unsafe { (&mut *environment.cast::<Environment>(), CStr::from_ptr(message)) };
    environment.log.push(format!("{status} {}", message.to_str().unwrap()));
}

type Get = unsafe extern "C" fn(*mut c_void, *const u32, usize, *mut f64, usize) -> c_int;
type Set = unsafe extern "C" fn(*mut c_void, *const u32, usize, *const f64, usize) -> c_int;

unsafe extern "C" fn update(
    environment: *mut c_void,
    time: f64,
    set: bool,
    get: bool,
    finished: bool,
    _may_return: bool,
    _wishes: *mut bool,
    _from: *mut f64,
) {
    // SAFETY: our environment, with the library that is calling us.
    unsafe {
        let environment = &mut *environment.cast::<Environment>();
        let (library, instance) = (&*environment.library.unwrap(), environment.instance as *mut c_void);
        environment.updates.push((time, set, get, finished));
        if let (true, Some(answers)) = (set, &environment.answers) {
            let function = library.get::<Set>(b"fmi3SetFloat64\0").unwrap();
            for (reference, value) in answers(time) {
                assert_eq!(function(instance, &reference, 1, &value, 1), 0);
            }
        }
        if let (true, Some(reference)) = (get, environment.look_at) {
            let function = library.get::<Get>(b"fmi3GetFloat64\0").unwrap();
            let mut value = f64::NAN;
            assert_eq!(function(instance, &reference, 1, &mut value, 1), 0);
            environment.seen.push(value);
        }
    }
}

#[repr(C)]
struct Callbacks {
    logger: Logger2,
    allocate: *const c_void,
    free: *const c_void,
    finished: *const c_void,
    environment: *mut c_void,
}

impl Fmu {
    /// Written around an empty file instead of the library, which is loaded from where it lies: all FMUs share
    /// it, and packing it dozens of times would only test the compressor.
    pub(crate) fn of(design: &Design) -> Fmu {
        let folder = folder(&design.name());
        let (empty, file) = (folder.join("empty"), folder.join(design.file_name()));
        std::fs::write(&empty, "").unwrap();
        write(design, &empty, &file).unwrap();
        Fmu::unpack(&file, design.version, &folder, |_| built_library().unwrap())
    }

    /// With the library inside, found where the standard says.
    pub(crate) fn whole(design: &Design) -> Fmu {
        let folder = folder(&design.name());
        let file = folder.join(design.file_name());
        write(design, &built_library().unwrap(), &file).unwrap();
        let platform = if design.version == Version::Two { "linux64" } else { "x86_64-linux" };
        let binaries = folder.join("binaries").join(platform);
        Fmu::unpack(&file, design.version, &folder, |identifier| binaries.join(format!("{identifier}.so")))
    }

    pub(crate) fn plain(source: &str, version: Version, variant: Variant) -> Fmu {
        Fmu::of(&Design::new(source, version).variant(variant))
    }

    fn unpack(file: &Path, version: Version, folder: &Path, binary: impl Fn(&str) -> PathBuf) -> Fmu {
        let mut archive = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
        archive.extract(folder).unwrap();
        let description = std::fs::read_to_string(folder.join("modelDescription.xml")).unwrap();
        let document = roxmltree::Document::parse(&description).unwrap();
        let root = document.root_element();
        let co_simulation = root.children().find(|node| node.has_tag_name("CoSimulation")).unwrap();
        let binary = binary(co_simulation.attribute("modelIdentifier").unwrap());
        // SAFETY: the library was built by us and does nothing when it is loaded.
        let library = Box::new(unsafe { Library::new(&binary) }.unwrap());
        let variables = root.children().find(|node| node.has_tag_name("ModelVariables")).unwrap();
        let references = variables.children().filter(|node| node.is_element()).map(|node| {
            let reference = node.attribute("valueReference").unwrap().parse().unwrap();
            (node.attribute("name").unwrap().to_owned(), reference)
        });
        let mut fmu = Fmu {
            library,
            instance: std::ptr::null_mut(),
            version,
            environment: Box::default(),
            references: references.collect(),
            folder: folder.into(),
        };
        let token = if version == Version::Two { "guid" } else { "instantiationToken" };
        fmu.instantiate(root.attribute(token).unwrap());
        fmu
    }

    pub(crate) fn instantiate(&mut self, token: &str) {
        let (name, token) = (c"unit", CString::new(token).unwrap());
        let resources = self.folder.join("resources");
        let environment = (&raw mut *self.environment).cast();
        // SAFETY: types and order of arguments are those of the standard's header.
        unsafe {
            self.instance = if self.version == Version::Two {
                let uri = CString::new(format!("file://{}", resources.display())).unwrap();
                // The FMU copies what it needs; the standard lets it rely on this memory, so it stays.
                let logger: unsafe extern "C" fn(_, _, _, _, _, _) = log2;
                let callbacks = Box::leak(Box::new(Callbacks {
                    logger: std::mem::transmute::<*const (), Logger2>(logger as *const ()),
                    allocate: std::ptr::null(),
                    free: std::ptr::null(),
                    finished: std::ptr::null(),
                    environment,
                }));
                type Make = unsafe extern "C" fn(
                    *const c_char,
                    c_int,
                    *const c_char,
                    *const c_char,
                    *const Callbacks,
                    c_int,
                    c_int,
                ) -> *mut c_void;
                let make = self.library.get::<Make>(b"fmi2Instantiate\0").unwrap();
                make(name.as_ptr(), 1, token.as_ptr(), uri.as_ptr(), callbacks, 0, 0)
            } else {
                let path = CString::new(format!("{}/", resources.display())).unwrap();
                type Make = unsafe extern "C" fn(
                    *const c_char,
                    *const c_char,
                    *const c_char,
                    bool,
                    bool,
                    bool,
                    bool,
                    *const u32,
                    usize,
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char),
                    unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64),
                ) -> *mut c_void;
                let make = self.library.get::<Make>(b"fmi3InstantiateCoSimulation\0").unwrap();
                let none = std::ptr::null();
                let (name, token, path) = (name.as_ptr(), token.as_ptr(), path.as_ptr());
                make(name, token, path, false, false, false, false, none, 0, environment, log3, update)
            };
        }
        self.environment.instance = self.instance as usize;
        self.environment.library = Some(&raw const *self.library);
    }

    pub(crate) fn has(&self, function: &str) -> bool {
        // SAFETY: it is looked up, not called.
        unsafe { self.library.get::<unsafe extern "C" fn()>(function.as_bytes()) }.is_ok()
    }

    pub(crate) fn exists(&self) -> bool {
        !self.instance.is_null()
    }

    pub(crate) fn reference(&self, name: &str) -> u32 {
        *self.references.get(name).unwrap_or_else(|| panic!("no variable `{name}`"))
    }

    /// A name that the description does not have.
    pub(crate) fn add_name(&mut self, name: &str, reference: u32) {
        self.references.insert(name.into(), reference);
    }

    /// Asks for one value without a place for it.
    pub(crate) fn get_null(&self) -> c_int {
        let reference = 1u32;
        let none = std::ptr::null_mut::<f64>();
        if self.two() {
            c!(self, "fmi2GetReal", &reference => *const u32, 1 => usize, none => *mut f64)
        } else {
            c!(self, "fmi3GetFloat64", &reference => *const u32, 1 => usize, none => *mut f64, 1 => usize)
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.references.keys().map(String::as_str)
    }

    fn two(&self) -> bool {
        self.version == Version::Two
    }

    pub(crate) fn enter(&self, start: f64, stop: Option<f64>) -> c_int {
        let (stops, stop) = (stop.is_some(), stop.unwrap_or(0.0));
        if self.two() {
            let status = c!(self, "fmi2SetupExperiment", 0 => c_int, 0.0 => f64, start => f64,
                c_int::from(stops) => c_int, stop => f64);
            if status == 0 { c!(self, "fmi2EnterInitializationMode") } else { status }
        } else {
            c!(self, "fmi3EnterInitializationMode", false => bool, 0.0 => f64, start => f64, stops => bool,
                stop => f64)
        }
    }

    pub(crate) fn enter_without_setup(&self) -> c_int {
        c!(self, "fmi2EnterInitializationMode")
    }

    pub(crate) fn exit(&self) -> c_int {
        if self.two() {
            c!(self, "fmi2ExitInitializationMode")
        } else {
            c!(self, "fmi3ExitInitializationMode")
        }
    }

    /// From instantiation to step mode.
    pub(crate) fn start(&self) {
        assert_eq!((self.enter(0.0, None), self.exit()), (0, 0), "{:?}", self.environment.log);
    }

    pub(crate) fn terminate(&self) -> c_int {
        if self.two() { c!(self, "fmi2Terminate") } else { c!(self, "fmi3Terminate") }
    }

    pub(crate) fn reset(&self) -> c_int {
        if self.two() { c!(self, "fmi2Reset") } else { c!(self, "fmi3Reset") }
    }

    pub(crate) fn try_set(&self, name: &str, value: f64) -> c_int {
        let reference = self.reference(name);
        if self.two() {
            c!(self, "fmi2SetReal", &reference => *const u32, 1 => usize, &value => *const f64)
        } else {
            c!(self, "fmi3SetFloat64", &reference => *const u32, 1 => usize, &value => *const f64, 1 => usize)
        }
    }

    pub(crate) fn set(&self, name: &str, value: f64) {
        assert_eq!(self.try_set(name, value), 0, "{name}: {:?}", self.environment.log);
    }

    pub(crate) fn set_count(&self, name: &str, value: i32) -> c_int {
        let reference = self.reference(name);
        if self.two() {
            c!(self, "fmi2SetInteger", &reference => *const u32, 1 => usize, &value => *const i32)
        } else {
            c!(self, "fmi3SetInt32", &reference => *const u32, 1 => usize, &value => *const i32, 1 => usize)
        }
    }

    pub(crate) fn get_count(&self, name: &str) -> i32 {
        let (reference, mut value) = (self.reference(name), 0);
        let status = if self.two() {
            c!(self, "fmi2GetInteger", &reference => *const u32, 1 => usize, &mut value => *mut i32)
        } else {
            c!(self, "fmi3GetInt32", &reference => *const u32, 1 => usize, &mut value => *mut i32, 1 => usize)
        };
        assert_eq!(status, 0);
        value
    }

    pub(crate) fn set_text(&self, name: &str, value: &str) -> c_int {
        let (reference, value) = (self.reference(name), CString::new(value).unwrap());
        let value = value.as_ptr();
        if self.two() {
            c!(self, "fmi2SetString", &reference => *const u32, 1 => usize, &value => *const *const c_char)
        } else {
            c!(self, "fmi3SetString", &reference => *const u32, 1 => usize, &value => *const *const c_char,
                1 => usize)
        }
    }

    pub(crate) fn try_get(&self, name: &str) -> Result<f64, c_int> {
        let (reference, mut value) = (self.reference(name), f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetReal", &reference => *const u32, 1 => usize, &mut value => *mut f64)
        } else {
            c!(self, "fmi3GetFloat64", &reference => *const u32, 1 => usize, &mut value => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(value) } else { Err(status) }
    }

    pub(crate) fn get(&self, name: &str) -> f64 {
        self.try_get(name).unwrap_or_else(|status| panic!("{status} {:?}", self.environment.log))
    }

    /// FMI 2.0 only.
    pub(crate) fn set_derivative(&self, name: &str, order: i32, value: f64) -> c_int {
        let reference = self.reference(name);
        c!(self, "fmi2SetRealInputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
            &value => *const f64)
    }

    pub(crate) fn output_derivative(&self, name: &str) -> Result<f64, c_int> {
        let (reference, order, mut value) = (self.reference(name), 1, f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetRealOutputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
                &mut value => *mut f64)
        } else {
            c!(self, "fmi3GetOutputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
                &mut value => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(value) } else { Err(status) }
    }

    pub(crate) fn try_step(&self, from: f64, size: f64, promise: bool) -> c_int {
        if self.two() {
            return c!(self, "fmi2DoStep", from => f64, size => f64, c_int::from(promise) => c_int);
        }
        let (mut event, mut terminate, mut early, mut last) = (true, true, true, f64::NAN);
        let status = c!(self, "fmi3DoStep", from => f64, size => f64, promise => bool, &mut event => *mut bool,
            &mut terminate => *mut bool, &mut early => *mut bool, &mut last => *mut f64);
        assert!(!event && !terminate && !early);
        if status == 0 {
            assert_eq!(last, from + size);
        }
        status
    }

    pub(crate) fn step(&self, from: f64, size: f64) {
        assert_eq!(self.try_step(from, size, false), 0, "{:?}", self.environment.log);
    }

    pub(crate) fn last_time(&self) -> f64 {
        let mut value = f64::NAN;
        assert_eq!(c!(self, "fmi2GetRealStatus", 2 => c_int, &mut value => *mut f64), 0);
        value
    }

    pub(crate) fn get_state(&self, state: &mut *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2GetFMUstate", state => *mut *mut c_void)
        } else {
            c!(self, "fmi3GetFMUState", state => *mut *mut c_void)
        }
    }

    pub(crate) fn set_state(&self, state: *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2SetFMUstate", state => *mut c_void)
        } else {
            c!(self, "fmi3SetFMUState", state => *mut c_void)
        }
    }

    pub(crate) fn free_state(&self, state: &mut *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2FreeFMUstate", state => *mut *mut c_void)
        } else {
            c!(self, "fmi3FreeFMUState", state => *mut *mut c_void)
        }
    }

    pub(crate) fn serialize(&self, state: *mut c_void) -> Vec<u8> {
        let mut size = 0usize;
        let status = if self.two() {
            c!(self, "fmi2SerializedFMUstateSize", state => *mut c_void, &mut size => *mut usize)
        } else {
            c!(self, "fmi3SerializedFMUStateSize", state => *mut c_void, &mut size => *mut usize)
        };
        assert_eq!(status, 0);
        let mut bytes = vec![0u8; size];
        let status = if self.two() {
            c!(self, "fmi2SerializeFMUstate", state => *mut c_void, bytes.as_mut_ptr() => *mut u8, size => usize)
        } else {
            c!(self, "fmi3SerializeFMUState", state => *mut c_void, bytes.as_mut_ptr() => *mut u8, size => usize)
        };
        assert_eq!(status, 0);
        bytes
    }

    pub(crate) fn deserialize(&self, bytes: &[u8], state: &mut *mut c_void) -> c_int {
        let (bytes, size) = (bytes.as_ptr(), bytes.len());
        if self.two() {
            c!(self, "fmi2DeSerializeFMUstate", bytes => *const u8, size => usize, state => *mut *mut c_void)
        } else {
            c!(self, "fmi3DeserializeFMUState", bytes => *const u8, size => usize, state => *mut *mut c_void)
        }
    }

    /// The derivative of one output by one input.
    pub(crate) fn derivative(&self, output: &str, input: &str) -> Result<f64, c_int> {
        let (unknown, known, seed, mut into) = (self.reference(output), self.reference(input), 1.0, f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetDirectionalDerivative", &unknown => *const u32, 1 => usize, &known => *const u32,
                1 => usize, &seed => *const f64, &mut into => *mut f64)
        } else {
            c!(self, "fmi3GetDirectionalDerivative", &unknown => *const u32, 1 => usize, &known => *const u32,
                1 => usize, &seed => *const f64, 1 => usize, &mut into => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(into) } else { Err(status) }
    }

    /// FMI 3.0 only.
    pub(crate) fn adjoint(&self, output: &str, input: &str) -> f64 {
        let (unknown, known, seed, mut into) = (self.reference(output), self.reference(input), 1.0, f64::NAN);
        let status = c!(self, "fmi3GetAdjointDerivative", &unknown => *const u32, 1 => usize,
            &known => *const u32, 1 => usize, &seed => *const f64, 1 => usize, &mut into => *mut f64, 1 => usize);
        assert_eq!(status, 0);
        into
    }

    pub(crate) fn last_log(&self) -> &str {
        self.environment.log.last().map_or("", String::as_str)
    }
}

impl Drop for Fmu {
    fn drop(&mut self) {
        if self.two() {
            c!(self, "fmi2FreeInstance");
        } else {
            c!(self, "fmi3FreeInstance");
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
